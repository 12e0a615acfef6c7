"""The pictures of the primer are what the code draws now, and what they show is right."""

from pathlib import Path
from xml.sax.saxutils import unescape

import pytest
from lxml import etree

from winnow.primer import real_documents, three_sequences
from winnow.primer.__main__ import pictures, real_contents

DOCS = Path(__file__).parent.parent / "infra" / "docs"
SVG = "{http://www.w3.org/2000/svg}"


def committed() -> dict[str, str]:
    return {file.stem: file.read_text(encoding="utf-8") for file in (DOCS / "primer").glob("*.svg")}


def test_the_pictures_of_three_sequences_are_up_to_date() -> None:
    made = pictures(None)
    assert set(made) == {"envelope", "search"}
    assert made == {name: committed()[name] for name in made}, "run make docs"


@pytest.mark.corpora
def test_all_pictures_are_up_to_date(corpora: Path) -> None:
    assert pictures(corpora) == committed(), "run make docs"


def test_the_page_shows_every_picture_and_no_other() -> None:
    page = (DOCS / "primer.md").read_text()
    assert {part.partition(".svg")[0] for part in page.split("(primer/")[1:]} == set(committed())


@pytest.mark.parametrize("name", sorted(committed()))
def test_pictures_have_words_for_those_who_do_not_see_them_and_colours_for_the_dark(name: str) -> None:
    svg = etree.fromstring(committed()[name].encode())
    title, description = svg.find(f"{SVG}title"), svg.find(f"{SVG}desc")
    assert title is not None
    assert title.text
    assert description is not None
    assert description.text
    assert "prefers-color-scheme: dark" in unescape(svg.find(f"{SVG}style").text)
    bottom = float(svg.get("height"))
    for box in svg.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width")) <= float(svg.get("width"))
        assert float(box.get("y", 0)) + float(box.get("height")) <= bottom


def test_the_bounds_are_those_of_figure_6() -> None:
    example = three_sequences.run()
    assert (example.lower, example.upper) == ("abcabababab", "dedeeededed")
    for document in example.documents:
        expected = tuple(k for k, letters in enumerate(three_sequences.SEQUENCES) if lies_in(letters, document.letters))
        assert document.found == expected
        assert document.is_within or not expected


def lies_in(query: str, data: str) -> bool:
    rest = iter(data)
    return all(letter in rest for letter in query)


@pytest.mark.corpora
def test_what_is_said_of_real_documents_is_what_libxml2_says(corpora: Path) -> None:
    contents = real_contents(corpora)
    told = real_documents.run(contents)
    for content, kinds in zip(contents, told.kinds, strict=True):
        root = etree.fromstring(content)
        held = [
            bool(etree.XPath(f"boolean({xpath})", namespaces=real_documents.NAMESPACES)(root))
            for xpath in real_documents.PROFILES
        ]
        assert [kind == "match" for kind in kinds] == held
    assert {kind for kinds in told.kinds for kind in kinds} == set(real_documents.KINDS)  # all four ways are shown
    assert 0 < told.nodes_read < told.nodes_stored
