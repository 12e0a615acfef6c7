"""Machine code on disk is used again whenever the sources are equal, and never when they are not."""

import os
import shutil
from pathlib import Path

import pytest

from .small_package import CALL, SmallPackage, finished


@pytest.fixture
def package(tmp_path: Path) -> SmallPackage:
    return SmallPackage(tmp_path / "here")


def test_equal_sources_are_compiled_once_whatever_their_times_and_place(package: SmallPackage, tmp_path: Path) -> None:
    assert package.call()[:2] == ([12], 1)
    for file in package.folder.rglob("*.py"):
        os.utime(file, (2**32, 2**32))
    assert package.call()[:2] == ([12], 0)
    shutil.copytree(package.folder, tmp_path / "there")
    shutil.rmtree(package.folder)
    package.folder = tmp_path / "there"
    assert package.call()[:2] == ([12], 0)


def test_a_change_in_a_module_of_a_module_compiles_anew(package: SmallPackage) -> None:
    package.call()
    package.edit("one/constants.py", "FACTOR = 2", "FACTOR = 3")
    assert package.call()[:2] == ([18], 1)
    assert len(package.machine_code()) == 2, "what the old sources left is removed"


def test_sources_that_are_edited_while_a_process_runs_are_not_taken_for_what_it_compiles(package: SmallPackage) -> None:
    constants = package.folder / "winnow/one/constants.py"
    edit = f"open({str(constants)!r}, 'w').write('FACTOR = 3')"
    script = CALL.replace("sums =", f"{edit}\nsums =")
    assert package.call(script=script).sums == [12]
    assert package.call()[:2] == ([18], 1)


def test_processes_that_compile_at_the_same_time_lose_nothing(package: SmallPackage) -> None:
    dtypes = ["int8", "int16", "int32", "int64"]
    started = [package.start(dtype, *dtypes) for dtype in dtypes]
    assert [finished(process).sums for process in started] == [[12] * 5] * 4
    assert package.call(*dtypes)[:2] == ([12] * 4, 0)


def test_what_lies_in_a_folder_that_nobody_can_write_is_used(package: SmallPackage) -> None:
    package.call()
    _make_read_only(package.folder)
    called = package.call()
    assert called == ([12], 0, "")


def test_sources_that_nobody_can_write_are_compiled_into_the_cache_of_the_user(package: SmallPackage) -> None:
    _make_read_only(package.folder / "winnow")
    (package.folder / "home").mkdir()
    assert package.call().compiled == 1
    assert package.call().compiled == 0
    assert package.machine_code("home")
    assert not package.machine_code("winnow")


def test_where_nothing_can_be_written_it_is_said_and_works(package: SmallPackage) -> None:
    _make_read_only(package.folder)
    for _ in range(2):
        called = package.call()
        assert called.sums == [12]
        assert called.stderr.count("compiled kernels cannot be kept") == 1


def test_the_folder_that_is_asked_for_comes_first(package: SmallPackage, tmp_path: Path) -> None:
    folder = {"NUMBA_CACHE_DIR": str(tmp_path / "asked")}
    assert package.call(**folder).compiled == 1
    assert list((tmp_path / "asked").rglob("*.nbc"))
    assert not package.machine_code()
    assert package.call(**folder).compiled == 0


def test_a_file_that_was_cut_short_is_compiled_again(package: SmallPackage) -> None:
    package.call()
    for file in package.machine_code():
        file.write_bytes(file.read_bytes()[:100] if "total" in file.name else b"")
    assert package.call()[:2] == ([12], 1)
    assert package.call().compiled == 0


def test_compiling_is_said_once_and_why(package: SmallPackage) -> None:
    said = package.call("int64", "int32").stderr
    assert said.count("compiling kernels") == 1
    assert "not compiled yet" in said
    assert package.call("int64", "int32").stderr == ""
    named = {"NUMBA_CPU_NAME": "generic"}
    assert "(CPU generic; compiled for another CPU or other types)" in package.call(**named).stderr
    assert package.call(**named).stderr == ""
    package.edit("one/constants.py", "FACTOR = 2", "FACTOR = 3")
    assert "sources or versions changed" in package.call().stderr


def _make_read_only(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
