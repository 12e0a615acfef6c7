"""Machine code on disk is never older than any module that went into it."""

import os
from pathlib import Path

from winnow.encoding import scanner
from winnow.encoding.jit import source_stamp


def test_a_change_in_any_module_of_the_folder_changes_the_stamp(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("one")
    (tmp_path / "helper.py").write_text("two")
    before = source_stamp(tmp_path)
    os.utime(tmp_path / "helper.py", (2**32, 2**32))
    assert source_stamp(tmp_path) != before


def test_kernels_carry_the_stamp() -> None:
    cache = scanner.scan_documents._cache._cache_file  # type: ignore[attr-defined]
    assert cache._source_stamp == source_stamp(Path(scanner.__file__).parent)
