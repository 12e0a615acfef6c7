"""The work of a step, counted: instructions of Python that the package executes. No other process changes the count."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import winnow

PACKAGE = str(Path(winnow.__file__).parent)


def instructions(step: Callable[[], object]) -> int:
    """How many instructions of this package's Python `step` executes; compiled kernels and libxml2 are not counted.

    >>> from winnow.documents.doctype import find_doctype
    >>> instructions(lambda: find_doctype(b"<a/>")) == instructions(lambda: find_doctype(b"<b/>")) > 0
    True
    """
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "call":
            if not frame.f_code.co_filename.startswith(PACKAGE):
                return None
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        step()
    finally:
        sys.settrace(before)
    return count
