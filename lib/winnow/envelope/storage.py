"""Rows that grow without being copied.

Trees share their rows: a tree made by `insert` sees the rows of the old tree and those after them. Only the tree that
ends where the written part ends may write behind it; any other gets a copy. Rows are never changed once written, so
readers of older trees are not disturbed, also in other threads.
"""

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.envelope.boxes import Boxes, copy_records, empty_boxes, gather


class Rows(NamedTuple):
    boxes: Boxes
    ids: NDArray[np.int32]


class Storage:
    def __getstate__(self) -> dict[str, object]:
        """A tree travels between processes; each has its own lock."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __init__(self, rows: int, positions: int) -> None:
        """A sixteenth of spare room; it costs address space only, until it is written."""
        self._boxes = empty_boxes(rows + rows // 16 + 64, positions + positions // 16 + 512)
        self._ids = np.empty(len(self._boxes.heads), np.int32)
        self._used = (0, 0)
        self._lock = threading.Lock()

    @classmethod
    def gathered(cls, rows: Rows, order: NDArray[np.int64]) -> "Storage":
        """The rows `order` of `rows`, in that order."""
        positions = int(rows.boxes.heads["longest"][order].sum())
        storage = cls(len(order), positions)
        storage._used = (len(order), positions)
        view = storage.view()
        gather(rows.boxes, order, view.boxes)
        view.ids[:] = rows.ids[order]
        return storage

    def _write(self, boxes: Boxes, ids: NDArray[np.int32]) -> None:
        row, position = self._used
        end, stop = row + len(ids), position + len(boxes.positions)
        copy_records(self._boxes.heads[row:], boxes.heads)
        self._boxes.heads["start"][row:end] += position
        copy_records(self._boxes.positions[position:], boxes.positions)
        self._ids[row:end] = ids
        self._used = (end, stop)

    def view(self) -> Rows:
        end, stop = self._used
        heads, positions = self._boxes
        return Rows(Boxes(heads[:end], positions[:stop]), self._ids[:end])

    def append(self, seen: Rows, boxes: Boxes, ids: NDArray[np.int32]) -> tuple["Storage", Rows]:
        """The rows `seen`, then `boxes`: in this storage if `seen` is all of it and there is room, else in another."""
        with self._lock:
            row, position = self._used
            whole = (row, position) == (len(seen.ids), len(seen.boxes.positions))
            room = len(self._ids) - row >= len(ids) and len(self._boxes.positions) - position >= len(boxes.positions)
            if whole and room:
                self._write(boxes, ids)
                return self, self.view()
        rows, positions = len(seen.ids) + len(ids), len(seen.boxes.positions) + len(boxes.positions)
        copy = Storage(rows, positions)
        copy._write(*seen)
        copy._write(boxes, ids)
        return copy, copy.view()
