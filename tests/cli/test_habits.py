"""What a person types and reads: one set of habits for all commands, and a sentence where something is amiss."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jobs.slow import nightly
from winnow.cli.commands import COMMANDS, GROUPS, command_parser
from winnow.cli.main import main
from winnow.cli.storage import storage_error

WINNOW = [sys.executable, "-m", "winnow"]
OUTPUT = ("--json", "--quiet", "--verbose")
NESTED = {"ingest": "documents", "generate": "sample", "bench": "profiles"}
# A tiny disk, and one that cannot be written, of a user namespace; the command runs beside them.
MOUNTS = "mount -t tmpfs -o size=200k tmpfs full && mount -t tmpfs tmpfs ro && mount -o remount,ro ro && exec "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.xml").write_text("<order><item price='7'/></order>")
    rows = [{"profile_id": f"p{number}", "xpath": "//item"} for number in range(2000)]
    (tmp_path / "profiles.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(*words: object, cwd: Path, **options: object) -> "subprocess.CompletedProcess[str]":
    command = [*WINNOW, *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def on_a_terminal(command: list[str], cwd: Path) -> str:
    """What a person sees: standard output and error on one terminal."""
    own, other = pty.openpty()
    with subprocess.Popen(command, cwd=cwd, stdin=other, stdout=other, stderr=other):
        os.close(other)
        seen = b""
        while True:
            try:
                seen += os.read(own, 4096)
            except OSError:
                break
    os.close(own)
    return seen.decode()


def test_help_is_quick_and_imports_nothing_heavy(tmp_path: Path) -> None:
    script = (
        "import resource, sys; from winnow.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'numba', 'pyspark', 'numpy', 'lxml', 'pyarrow'} & sys.modules.keys()\n"
        "used = resource.getrusage(resource.RUSAGE_SELF); print(used.ru_utime + used.ru_stime)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 0.3, "seconds of CPU"
    listed = re.findall(r"^  ([a-z-]+)  ", done.stdout, re.MULTILINE)
    assert [name for name in listed if name in COMMANDS] == list(COMMANDS), "in the order of the groups"
    assert next(iter(GROUPS)) == "every day"
    assert "single jobs" in [*GROUPS][-1]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_the_same_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [NESTED[name], "--help"] if name in NESTED else ["--help"]
    with pytest.raises(SystemExit):
        command_parser(name).parse_args(words)
    told = capsys.readouterr().out
    assert all(option in told for option in OUTPUT)


def test_the_lake_goes_before_or_after_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = str(tmp_path / "L")
    for words in (["--lake", lake, "status"], ["status", "--lake", lake], ["--lake=" + lake, "--json", "status"]):
        assert main(words) == 0
    out = capsys.readouterr().out
    assert out.count(f"lake {lake}") == 2
    assert out.rstrip().endswith("[]")
    assert main(["--lake", lake, "check", "x.jsonl"]) == 2
    assert "winnow check works without a lake" in capsys.readouterr().err


def test_to_is_a_date_and_output_is_a_place() -> None:
    where = {"deliver": "--output", "match": "--output"}
    for name in COMMANDS:
        told = command_parser(name).format_help()
        assert ("--to LAST" in told) == ("--from FIRST" in told), name
        assert ("--output" in told) == (name in where), name


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["statsu"], "there is no command 'statsu'; did you mean 'status'?"),
        (["run", "--date", "yesterday"], "argument --date: 'yesterday' is not a date like 2026-11-16"),
        (["query", "--nope"], "unrecognized arguments: --nope (`winnow query --help` lists what it takes)"),
    ],
)
def test_wrong_calls_are_one_sentence(words: list[str], sentence: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    first, record = capfd.readouterr().err.splitlines()
    assert sentence in first
    assert json.loads(record)["winnow_error"]["exit"] == 2


def test_the_line_for_machines_is_not_for_people(folder: Path) -> None:
    seen = on_a_terminal([*WINNOW, "check", "nothing.csv"], folder)
    assert "winnow: no_input: there is no profile file 'nothing.csv'" in seen
    assert "winnow_error" not in seen
    asked = on_a_terminal([*WINNOW, "check", "nothing.csv", "--json"], folder)
    assert json.loads(asked)["winnow_error"]["code"] == "no_input"
    assert len(run("check", "nothing.csv", cwd=folder).stderr.splitlines()) == 2


def test_colours_are_for_terminals(folder: Path) -> None:
    words = ["explain", "a.xml", "--profile", "//item"]
    assert "\033[32m" in on_a_terminal([*WINNOW, *words], folder)
    assert "\033" not in run(*words, cwd=folder).stdout


def test_whoever_reads_a_part_hears_nothing_more(folder: Path) -> None:
    script = f"set -o pipefail; {sys.executable} -m winnow check profiles.jsonl | head -1"
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout.count("\n") == 1
    assert not done.stderr
    done = run("match", "a.xml", "--profiles", "profiles.jsonl", "--quiet", cwd=folder)
    assert not done.stderr
    assert done.stdout.count("\n") == 2001


def test_an_interrupt_is_one_line(folder: Path) -> None:
    words = ["generate", "documents", "many", "--dtd", "news", "--documents", "100000000"]
    process = subprocess.Popen([*WINNOW, *words], cwd=folder, stderr=subprocess.PIPE, text=True)
    while not (folder / "many").exists():
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert told.splitlines() == ["winnow: interrupted; run the same command again to finish"]


def test_no_java_is_one_sentence(folder: Path) -> None:
    environment = {**os.environ, "PATH": str(folder), "JAVA_HOME": ""}
    words = ["ingest", "documents", "a.xml", "--date", "2026-11-16", "--lake", "L"]
    done = run(*words, cwd=folder, env=environment)
    assert done.returncode == 2
    first, _ = done.stderr.splitlines()
    assert first.startswith("winnow: no_java: Spark needs Java 17 or 21, and there is none on PATH (install one")
    old = folder / "java"  # what a Java says that is too old for Spark
    old.write_text("#!/bin/sh\necho 'Unrecognized option: --add-opens' >&2\nexit 1\n")
    old.chmod(0o755)
    done = run(*words, cwd=folder, env={**environment, "PATH": f"{folder}:/usr/bin:/bin"})
    assert "winnow: java_failed: Java (" in done.stderr
    assert "Unrecognized option: --add-opens" in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_one_sentence(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*WINNOW, "check", "profiles.jsonl"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 75
    assert done.stderr.splitlines()[0].startswith("winnow: disk_full: there is no room left for the output (free some")


@pytest.mark.parametrize(
    ("words", "code", "place"),
    [
        ("java.io.IOException: No space left on device", "disk_full", "the lake L"),
        ("java.io.FileNotFoundException: /lake/x.parquet (Read-only file system)", "cannot_write", "/lake/x.parquet"),
        ("Mkdirs failed to create file:/lake/documents/_delta_log", "cannot_write", "/lake/documents/_delta_log"),
    ],
)
def test_what_spark_says_of_a_disk(words: str, code: str, place: str) -> None:
    found = storage_error(RuntimeError(f"An error occurred while calling o63.sql.\n: {words}\n\tat org."), "the lake L")
    assert found is not None
    assert (found.code, place in found.message) == (code, True)
    assert storage_error(RuntimeError("something else")) is None


@nightly
def test_an_interrupted_job_is_one_line(folder: Path) -> None:
    words = ["ingest", "documents", "a.xml", "--date", "2026-11-16", "--lake", "L"]
    process = subprocess.Popen([*WINNOW, *words], cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not (folder / "L" / "arrivals").exists():
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    told = process.communicate(timeout=300)[1]
    assert process.returncode == 130
    assert told.splitlines() == ["winnow: interrupted; run the same command again to finish"]
    done = run(*words, cwd=folder)
    assert done.returncode == 0
    assert "1 stored" in done.stdout


@nightly
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs a user namespace")
@pytest.mark.parametrize(("disk", "code"), [("full", "disk_full"), ("ro", "cannot_write")])
def test_lakes_that_cannot_be_written(disk: str, code: str, folder: Path) -> None:
    (folder / disk).mkdir()
    (folder / {"full": "ro", "ro": "full"}[disk]).mkdir()
    words = f"{sys.executable} -m winnow ingest documents a.xml --date 2026-11-16 --lake {disk}/L"
    done = subprocess.run(
        ["unshare", "-rm", "bash", "-c", MOUNTS + words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[0].startswith(f"winnow: {code}: ")
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("other.csv", "id,query\n1,//a\n"),
        ("other.jsonl", '{"id": "1", "query": "//a"}\n{"id": "2", "query": "//b"}\n'),
        ("empty.csv", ""),
    ],
)
def test_a_file_of_something_else_names_its_columns(
    name: str, text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert main(["check", str(tmp_path / name)]) == 2
    told = capfd.readouterr().err.splitlines()[0]
    columns = "id, query" if text else "of an empty file"
    assert (
        f"other_columns: {name} has the columns {columns}; it needs profile_id and xpath (rename them; it may" in told
    )


def test_a_row_that_lacks_a_field_names_those_it_has(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = ['{"profile_id": "a", "xpath": "//a"}', '{"profile_id": "b", "query": "//b"}']
    (tmp_path / "p.jsonl").write_text("\n".join(rows))
    assert main(["check", str(tmp_path / "p.jsonl")]) == 3
    assert "xpath is missing; the row has profile_id, query" in capfd.readouterr().out


def test_run_ids_are_unique() -> None:
    from winnow.jobs.run import new_run_id

    assert len({new_run_id("manual") for _ in range(100)}) == 100


@pytest.mark.spark
def test_a_date_without_documents_says_so_first(
    spark: object, published_lake: object, capsys: pytest.CaptureFixture[str]
) -> None:
    from winnow.cli.commands import parse
    from winnow.cli.run import _without_documents

    lake = str(published_lake.folder)  # type: ignore[attr-defined]
    lines = list(_without_documents(parse(["run", "--from=2026-11-16", "--to=2026-11-17", f"--lake={lake}"])))
    assert [line.split(" in ")[0] for line in lines] == ["2026-11-17 has no documents"]
    (line,) = _without_documents(parse(["run", "--date=2026-11-17", "--lake=/nowhere"]))
    assert "`winnow ingest documents PATH --date 2026-11-17` brings some" in line


def test_completion_knows_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in COMMANDS)
    checked = subprocess.run(["bash", "-n"], input=told, text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_the_doctor_names_what_mends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--json", "--lake", str(tmp_path / "L")]) == 0
    found = {row["what"]: row for row in json.loads(capsys.readouterr().out)}
    assert {"Python", "packages", "kernels", "Java", "jars", "disk", "memory", "ports", "lake"} <= found.keys()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("WINNOW_JARS", str(tmp_path))
    assert main(["doctor", "--lake", str(tmp_path / "L")]) == 1
    told = capsys.readouterr().out
    assert f"BROKEN  Java       Spark needs Java 17 or 21, and there is none in JAVA_HOME={tmp_path}" in told
    assert "→ install one, e.g. `apt-get install openjdk-17-jre-headless`" in told
