"""What is probably mistaken in a profile that matches nothing: a folder of cases, each with its sentence."""

import json
from pathlib import Path

import pytest
from lxml import etree

from winnow.cli.explain import mistake_lines
from winnow.cli.main import main
from winnow.explain import explain
from winnow.mistakes import find_mistakes

CASES = sorted((Path(__file__).parent / "mistakes").iterdir())


def case(folder: Path) -> tuple[bytes, str, dict[str, str]]:
    profile = json.loads((folder / "profile.json").read_text())
    return (folder / "document.xml").read_bytes(), profile["xpath"], profile["namespaces"]


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 20


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_the_mistake_is_named(folder: Path) -> None:
    content, xpath, namespaces = case(folder)
    story = explain(content, xpath, namespaces)
    assert not story.matches
    assert story.mistake is not None
    assert "\n".join(mistake_lines(story.mistake)) == (folder / "expected.txt").read_text().rstrip()
    corrected = etree.XPath(story.mistake.xpath, namespaces=story.mistake.namespaces or None)
    assert corrected(etree.fromstring(content)), "libxml2 agrees"
    again = explain(content, story.mistake.xpath, story.mistake.namespaces)
    assert again.matches
    assert again.mistake is None, "nothing is mistaken in what matches"


def test_a_value_that_is_not_there_is_no_mistake() -> None:
    content, _, _ = case(CASES[0])
    namespaces = {"o": "urn:shop:order"}
    assert explain(content, "//o:item[o:title = 'Saucer']", namespaces).mistake is None
    assert explain(content, "//o:item[not(o:title)]", namespaces).mistake is None
    assert explain(content, "//o:nothing/like/this", namespaces).mistake is None


def test_a_sample_is_looked_at_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for folder in CASES:
        content, xpath, namespaces = case(folder)
        (tmp_path / f"{folder.name}.xml").write_bytes(content)
        rows.append({"profile_id": folder.name, "xpath": xpath, "namespaces": namespaces})
    rows.append({"profile_id": "right", "xpath": "//t:leg", "namespaces": {"t": "urn:trade"}})
    (tmp_path / "profiles.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["check", str(tmp_path / "profiles.jsonl"), "--documents", str(tmp_path / "*.xml")]
    assert main(words) == 0
    told = capsys.readouterr().out
    expected = "`item` is in the namespace 'urn:shop:order' here (the default namespace of the document)"
    assert f"01-default-namespace  matches none of {len(CASES)} documents\n    {expected}" in told
    assert "right  matches none" not in told
    assert main([*words, "--json"]) == 0
    *_, last = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert last["documents"] == len(CASES)
    assert last["mistakes"] >= 20


def test_counts_are_over_the_sample() -> None:
    documents = [("a", b"<r><Item/></r>"), ("b", b"<r><Item/></r>"), ("c", b"<r><other/></r>")]
    (found,) = find_mistakes([("p", "//item", None, False), ("q", "//other", None, False)], documents)
    assert (found.profile_id, found.xpath, found.documents) == ("p", "//Item", 2)


@pytest.mark.parametrize(
    ("xpath", "place"),
    [
        ("//item[@price < 10]/name", "/order/item[2]/name[1]"),
        ("//@price", "/order/item[1]/@price"),
        ("//name/text()", "/order/item[1]/name[1]/text()[1]"),
        ("/order/text()[2]", "/order/text()[2]"),
        ("//item | //name", "/order/item[1]"),
        ("count(//item) = 2", ""),
    ],
)
def test_the_witness_is_what_the_xpath_selects(xpath: str, place: str) -> None:
    content = b"<order>one<item price='12'><name>Tea</name></item>two<item price='7'><name>Cup</name></item></order>"
    story = explain(content, xpath)
    assert story.matches
    assert story.selected == place


@pytest.mark.spark
def test_documents_and_profiles_of_a_lake(published_lake: object, capsys: pytest.CaptureFixture[str]) -> None:
    import deltalake

    lake = str(published_lake.folder)  # type: ignore[attr-defined]
    match = deltalake.DeltaTable(f"{lake}/matches").to_pyarrow_table().slice(0, 1).to_pylist()[0]
    words = ["explain", "--lake", lake, "--document", match["document_id"], "--profile"]
    assert main([*words, match["profile_id"]]) == 0
    assert capsys.readouterr().out.startswith("matches")
    assert main([*words, "nobody"]) == 2
    assert main(["explain", "--lake", lake, "--document", "0" * 64, "--profile", match["profile_id"]]) == 2
    told = capsys.readouterr().err
    assert "unknown_profile: there is no profile nobody in" in told
    assert "unknown_document: there is no document 0000" in told
