"""A tree in a mapped file: a search reads the subtrees that it enters, and memory may be taken back at any time."""

import ctypes
import mmap
from itertools import islice, permutations
from pathlib import Path

import numpy as np
import pytest

from winnow import Matcher
from winnow.engines.boxfilter.engine import BatchBoxFilter, BoxFilter
from winnow.envelope import PackedTree
from winnow.spark.index_file import open_index, write_index

KINDS, PROFILES, STEPS = 40, 750, 6  # kinds of documents, profiles of each, and labels of a profile
_PRESENT = 1 << 63  # of an entry of /proc/self/pagemap
_DONT_NEED = 4  # MADV_DONTNEED
ROWS = ("columns", "starts", "shared", "skip", "ids")


def labels_of(kind: int) -> list[str]:
    return [f"k{kind}-{number}" for number in range(8)]


def document(kind: int) -> bytes:
    """All labels of a kind, one in the other, twice."""
    labels = labels_of(kind) * 2
    return ("".join(f"<{label}>" for label in labels) + "".join(f"</{label}>" for label in labels[::-1])).encode()


def pages(array: np.ndarray) -> tuple[int, int]:  # type: ignore[type-arg]
    """The pages that lie wholly within an array, as addresses."""
    start = -(-array.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    return start, (array.ctypes.data + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE


def resident(tree: PackedTree) -> float:
    """The share of the pages of the rows that this process has in memory."""
    present = total = 0
    with open("/proc/self/pagemap", "rb") as entries:
        for name in ROWS:
            start, stop = pages(getattr(tree, name))
            entries.seek(start // mmap.PAGESIZE * 8)
            found = np.frombuffer(entries.read((stop - start) // mmap.PAGESIZE * 8), np.uint64)
            present, total = present + int((found & np.uint64(_PRESENT) != 0).sum()), total + found.size
    return present / total


def give_back(tree: PackedTree) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for name in ROWS:
        start, stop = pages(getattr(tree, name))
        assert not libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(stop - start), _DONT_NEED)


def answers(matcher: Matcher, kind: int) -> set[str]:
    return {match.profile_id for match in matcher.match([document(kind)])}


@pytest.mark.parametrize("engine", ["boxfilter", "b-boxfilter"])
def test_a_search_reads_the_subtrees_that_it_enters(engine: str, tmp_path: Path) -> None:
    orders = [order for kind in range(KINDS) for order in islice(permutations(labels_of(kind), STEPS), PROFILES)]
    matcher = Matcher((("//".join(order), "//" + "//".join(order)) for order in orders), engine=engine)
    found = matcher.match([document(kind) for kind in range(KINDS)])
    by_document: dict[str | int, set[str]] = {}
    for match in found:
        by_document.setdefault(match.document, set()).add(match.profile_id)
    expected = list(by_document.values())
    assert len(expected) == KINDS
    matcher.freeze()
    with (tmp_path / "matcher").open("wb") as out:
        write_index(matcher, out)

    mapped = open_index(tmp_path / "matcher")
    assert isinstance(mapped, Matcher)
    assert isinstance(mapped.engine, BoxFilter | BatchBoxFilter)
    tree = mapped.engine.index.packed
    assert resident(tree) == 0
    before = mapped.funnel
    assert answers(mapped, 3) == expected[3]
    one = resident(tree)
    assert 0 < one < 0.25
    read, stored = (getattr(mapped.funnel, name) - getattr(before, name) for name in ("nodes_read", "nodes_stored"))
    assert 0 < read < 0.1 * stored

    assert answers(mapped, 30) == expected[30]
    assert resident(tree) > one
    give_back(tree)
    assert resident(tree) == 0
    assert answers(mapped, 3) == expected[3]
    assert resident(tree) < 0.25
    assert answers(mapped, 30) == expected[30]
