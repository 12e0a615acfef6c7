"""Deliveries: a file of its own for every destination, and the same bytes for as long as the matches are kept."""

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import deltalake
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.lakes import DESKS, FIRST, SECOND, rows
from winnow.cli.main import main
from winnow.errors import DataError
from winnow.query import deliver
from winnow.tables import Lake

pytestmark = pytest.mark.spark

ALIKE = [
    *("desk", "Desk", "DESK", "desk ", " desk", "desk.", ".desk", "%64esk", "desk.jsonl", "desk~", "dEsK"),
    *(
        "",
        ".",
        "..",
        "/",
        "\\",
        "a/b",
        "a\\b",
        "a:b",
        "a-b",
        "a b",
        "a\0b",
        "a\nb",
        "~",
        "%",
        "%7E",
        "%2E",
        "~" + "0" * 32,
    ),
    *(
        "../etc/passwd",
        "etc-passwd-7fef78f5",
        "-etc-passwd",
        "é",
        "e\u0301",
        "É",
        "ﬁ",
        "fi",
        "ß",
        "ss",
        "SS",
        "\ud800",
        "�",
    ),
    *("x" * 120, "x" * 121, "x" * 300, "x" * 299 + "y", "ä" * 100, "ä" * 99 + "ö", "X" * 300),
    deliver.file_name("Desk").removesuffix(".jsonl"),
    deliver.file_name("x" * 300).removesuffix(".jsonl"),
]


def as_a_file_system_sees_it(name: str) -> str:
    """Without case and without Unicode forms."""
    return unicodedata.normalize("NFKC", name).casefold()


def test_no_two_destinations_share_a_file() -> None:
    assert len(set(ALIKE)) == len(ALIKE)
    assert len({as_a_file_system_sees_it(deliver.file_name(name)) for name in ALIKE}) == len(ALIKE)


@given(st.lists(st.text("aA.~%/\0é\ud800", max_size=4) | st.text(max_size=200), unique=True))
def test_names_are_injective_and_safe(destinations: list[str]) -> None:
    names = [deliver.file_name(destination) for destination in destinations]
    assert len({as_a_file_system_sees_it(name) for name in names}) == len(destinations)
    for name in names:
        assert name.isascii()
        assert len(name) < 200
        assert not name.startswith(".")
        assert not set(name) & set("/\\:\0\n ")


def sent(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_deliveries_are_files_for_each_destination(published_lake: Lake, tmp_path: Path) -> None:
    config = deliver.Config(lake=published_lake, date=FIRST, folder=tmp_path)
    report = deliver.run(config)
    first = sent(tmp_path)
    assert set(first) == {"desk%2F0.jsonl", "%2E.%2Fetc%2Fpasswd.jsonl", "etc-passwd-7fef78f5.jsonl"}
    assert report.counts["destinations"] == len(DESKS)
    lines = [json.loads(line) for content in first.values() for line in content.splitlines()]
    assert report.counts["documents"] == len(lines)
    delivered = {(line["destination"], line["document_id"], m["profile_id"]) for line in lines for m in line["matches"]}
    matches = [row for row in rows(published_lake, "matches") if row["match_date"] == FIRST]
    assert delivered == {(row["destination"], row["document_id"], row["profile_id"]) for row in matches}
    counts = [row["matches"] for row in rows(published_lake, "deliveries") if row["match_date"] == FIRST]
    assert sum(counts) == len(matches)  # type: ignore[arg-type]
    deliver.run(config)
    assert sent(tmp_path) == first
    one = deliver.Config(lake=published_lake, date=FIRST, folder=tmp_path / "one", destination="desk/0")
    assert deliver.run(one).counts["destinations"] == 1
    assert sent(tmp_path / "one") == {"desk%2F0.jsonl": first["desk%2F0.jsonl"]}


def remove_files(table: deltalake.DeltaTable) -> None:
    table.optimize.z_order(["document_id"])
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


def remove_log(table: deltalake.DeltaTable) -> None:
    table.create_checkpoint()
    for version in range(table.version()):
        Path(table.table_uri.removeprefix("file://"), "_delta_log", f"{version:020}.json").unlink()


@pytest.mark.parametrize("maintain", [remove_files, remove_log])
def test_what_maintenance_has_not_changed_is_still_delivered(
    lake_copy: Lake, tmp_path: Path, maintain: Callable[[deltalake.DeltaTable], None]
) -> None:
    for date in (FIRST, SECOND):
        deliver.run(deliver.Config(lake=lake_copy, date=date, folder=tmp_path / "before"))
    maintain(deltalake.DeltaTable(f"{lake_copy.location}/matches"))
    with pytest.raises((deltalake.exceptions.DeltaError, FileNotFoundError)):  # the version it names is gone indeed
        deltalake.DeltaTable(f"{lake_copy.location}/matches", version=1).to_pyarrow_table()
    for date in (FIRST, SECOND):
        deliver.run(deliver.Config(lake=lake_copy, date=date, folder=tmp_path / "after"))
    assert sent(tmp_path / "after") == sent(tmp_path / "before")


@pytest.mark.parametrize("maintain", [remove_files, remove_log])
def test_what_is_gone_is_said_and_the_others_are_written(
    lake_copy: Lake,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    maintain: Callable[[deltalake.DeltaTable], None],
) -> None:
    config = deliver.Config(lake=lake_copy, date=FIRST, folder=tmp_path / "before")
    deliver.run(config)
    whole = sent(tmp_path / "before")
    own = [r for r in rows(lake_copy, "matches") if (r["match_date"], r["destination"]) == (FIRST, "desk/0")]
    table = deltalake.DeltaTable(f"{lake_copy.location}/matches")
    table.delete(f"document_id = '{own[0]['document_id']}' and profile_id = '{own[0]['profile_id']}'")
    deliver.run(config)  # it reads the version that was published
    assert sent(tmp_path / "before") == whole
    maintain(table)
    arguments = ["deliver", "--lake", lake_copy.location, "--date", str(FIRST), "--output", str(tmp_path / "after")]
    assert main(arguments) == DataError.exit_code
    error = json.loads(capsys.readouterr().err.splitlines()[-1])["winnow_error"]
    assert error["code"] == "matches_removed"
    assert f"desk/0 ({len(own):,} published, {len(own) - 1:,} there); 2 destinations were written" in error["message"]
    assert error["message"].endswith(f"from {SECOND} on all can be delivered")
    assert "--full" in error["hint"]
    assert sent(tmp_path / "after") == {name: content for name, content in whole.items() if name != "desk%2F0.jsonl"}
    assert main([*arguments, "--destination", "../etc/passwd"]) == 0


def test_no_date_is_named_when_the_last_one_is_not_kept(lake_copy: Lake, tmp_path: Path) -> None:
    table = deltalake.DeltaTable(f"{lake_copy.location}/matches")
    table.delete(f"match_date = '{SECOND}' and destination = 'desk/0'")
    remove_files(table)
    deliver.run(deliver.Config(lake=lake_copy, date=FIRST, folder=tmp_path))
    with pytest.raises(DataError, match="no later date is kept as a whole either"):
        deliver.run(deliver.Config(lake=lake_copy, date=SECOND, folder=tmp_path))
