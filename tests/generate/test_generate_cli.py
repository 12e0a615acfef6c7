"""`winnow generate` as its users call it; what it writes can be read."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from winnow.cli.main import main
from winnow.generate.shapes import SHAPES
from winnow.ingest.profiles import PROFILES, read_profiles

WANTED = ["--branch", "0.1", "--predicates", "1", "--predicate-share", "0.3"]
SHARES = ["--match-documents", "50%", "--match-profiles", "0.25", "--sample", "100"]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def generate(folder: Path, hash_seed: str, seed: str) -> dict[str, bytes]:
    """Everything that can be written, in a process of its own."""
    folder.mkdir()
    script = (
        "import sys\nfrom winnow.cli.main import main\n"
        "seed, words = ['--seed', sys.argv[1]], ['--dtd', 'news', '--dtd', 'tiny', '--size', 'small']\n"
        "for name in ('docs', 'docs.tar.gz', 'docs.parquet'):\n"
        "    main(['generate', 'documents', name, *words, '--documents', '30', *seed])\n"
        f"more = {[*WANTED, *SHARES]}\n"
        "for name in ('p.jsonl', 'p.csv', 'p.jsonl.gz', 'p.parquet'):\n"
        "    main(['generate', 'profiles', name, *words, '--profiles', '200', *more, *seed])\n"
        "main(['generate', 'profiles', 'like.jsonl', '--like', 'docs', '--profiles', '200', *seed])\n"
    )
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    subprocess.run([sys.executable, "-c", script, seed], cwd=folder, env=environment, check=True, capture_output=True)
    return bytes_of(folder)


def test_same_seed_same_bytes_in_every_process(tmp_path: Path) -> None:
    first = generate(tmp_path / "a", "1", "1")
    assert len(first) == 30 + 2 + 5
    assert generate(tmp_path / "b", "2", "1") == first
    assert not set(first.items()) & set(generate(tmp_path / "c", "1", "2").items())


def test_what_is_written_is_read_by_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for target in ("docs", "docs.tar.gz"):
        assert main(["generate", "documents", target, "--dtd", "all", "--documents", "100"]) == 0
    for target in ("p.jsonl", "p.csv"):
        assert main(["generate", "profiles", target, "--dtd", "all", "--profiles", "200", *WANTED, *SHARES]) == 0
    assert "documents that match     50.0%, wanted 50.0%" in capfd.readouterr().out
    answers = []
    for documents, profiles in (("docs", "p.csv"), ("docs.tar.gz", "p.jsonl")):
        assert main(["match", documents, "--profiles", profiles]) == 0
        rows = [line.split(",")[:2] for line in capfd.readouterr().out.splitlines()[1:]]
        answers.append([(document.replace("!", "/").rsplit("/", 1)[1], profile) for document, profile in rows])
    assert sorted(answers[0]) == sorted(answers[1])
    assert len({document for document, _ in answers[0]}) == 50
    assert len({profile for _, profile in answers[0]}) == 50


def test_parquet_has_the_same_rows_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--dtd", "tiny", "--size", "5", "--documents", "4500"]
    for target in ("docs", "docs.parquet"):
        main(["generate", "documents", target, *words])
    file = pq.ParquetFile("docs.parquet")
    assert file.num_row_groups == 3
    rows = file.read().to_pylist()
    assert {row["document"]: row["content"] for row in rows} == {
        Path(name).name: content for name, content in bytes_of(tmp_path / "docs").items()
    }
    for target in ("p.parquet", "p.jsonl"):
        main(["generate", "profiles", target, "--dtd", "news", "--profiles", "300"])
    table = pq.read_table("p.parquet")
    assert table.schema.equals(PROFILES)
    assert table.to_pylist() == read_profiles("p.jsonl").profiles.to_pylist()


def test_dtds_are_listed_and_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["generate", "dtd"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(SHAPES)
    main(["generate", "dtd", "tiny"])
    (tmp_path / "tiny.dtd").write_text(capsys.readouterr().out)
    for target, dtd in (("a", "tiny"), ("b", str(tmp_path / "tiny.dtd"))):
        assert main(["generate", "documents", str(tmp_path / target), "--dtd", dtd, "--documents", "9"]) == 0
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["documents", "x", "--dtd", "absent"], "no_dtd"),
        (["documents", "x.zip", "--dtd", "tiny"], "unknown_format"),
        (["documents", "no/x", "--dtd", "tiny"], "no_folder"),
        (["documents", "full", "--dtd", "tiny"], "not_empty"),
        (["documents", "x", "--dtd", "tiny", "--size", "huge"], "bad_size"),
        (["profiles", "x.xml", "--dtd", "tiny"], "unknown_format"),
        (["profiles", "x.jsonl"], "no_source"),
        (["profiles", "x.jsonl", "--dtd", "tiny", "--steps", "1"], "bad_steps"),
        (["profiles", "x.jsonl", "--dtd", "tiny", "--profiles", "100000"], "too_few_profiles"),
        (["profiles", "x.jsonl", "--like", "full"], "no_samples"),
        (["dtd", "absent"], "no_dtd"),
    ],
)
def test_wrong_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: str, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.xml").write_text("<a>")
    assert main(["generate", *words]) in {2, 65}
    assert f"winnow: {code}: " in capfd.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]  # nothing half-written
