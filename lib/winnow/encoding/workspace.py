"""The scanner's memory, kept between calls: pages that are already there are the cheapest."""

from typing import Any

import numpy as np

from winnow.encoding.batch import ENCODING_VERSION, EncodedBatch, Longs, freeze
from winnow.encoding.layout import (
    FRAME,
    MAX_DECLARATIONS,
    NODES,
    SPAN,
    STATE_SIZE,
    TEXTS,
    VALUES,
    Bounds,
    Output,
    Work,
)
from winnow.encoding.simd import SLACK

_PER_NODE = ("path", "end", "level", "parent", "value_start", "value_end")
_PER_TEXT = ("text_parent", "text_start", "text_end")
_PER_DOCUMENT = ("status", "doc_offsets", "value_offsets", "text_offsets")
_TYPES = (
    dict.fromkeys((*_PER_NODE, *_PER_TEXT), np.int32)
    | dict.fromkeys(_PER_DOCUMENT, np.int64)
    | {"status": np.uint8, "level": np.int16, "values": np.uint8}
)
_NO_BOUNDS = Bounds(0, 0, 0, 0)


class Workspace:
    def __init__(self) -> None:
        self.state: Longs = np.zeros(STATE_SIZE, np.int64)
        self.output = Output(
            **{name: np.zeros(0, dtype) for name, dtype in _TYPES.items()}, node_capacity=0, text_capacity=0
        )
        self.work = Work(
            frames=np.zeros(0, np.int64),
            attributes=np.zeros(0, np.int64),
            declarations=np.zeros(2 * MAX_DECLARATIONS, np.int64),
            attribute_values=np.zeros(0, np.uint8),
            with_values=False,
            strict=False,
            bounds=_NO_BOUNDS,
        )

    def reserve(self, offsets: Longs, *, values: bool, bounds: Bounds | None) -> None:
        """Make room for documents at these offsets. How many nodes they have is a guess, and `grow` mends it."""
        documents, size = offsets.size - 1, int(offsets[-1] - offsets[0])
        longest = int(np.diff(offsets).max(initial=0))
        self._resize(_PER_DOCUMENT, documents + 1)
        self._resize(_PER_NODE, size // 24 + 64)
        self._resize(_PER_TEXT, size // 24 + 64 if values else 0)
        self._resize(("values",), size + SLACK if values else 0)
        if FRAME * (longest // 3 + 2) > self.work.frames.size:  # `<a>` opens a frame; an attribute is ` a=""`
            self.work = self.work._replace(
                frames=np.zeros(FRAME * (longest // 3 + 2), np.int64),
                attributes=np.zeros(SPAN * (longest // 4 + 2), np.int64),
                attribute_values=np.zeros(longest + SLACK, np.uint8),
            )
        self.work = self.work._replace(
            with_values=values, strict=bounds is not None, bounds=_NO_BOUNDS if bounds is None else bounds
        )
        for name in ("doc_offsets", "value_offsets", "text_offsets"):
            getattr(self.output, name)[0] = 0

    def grow(self) -> None:
        self._resize(_PER_NODE, 2 * self.output.path.size)
        self._resize(_PER_TEXT, 2 * self.output.text_parent.size)

    def batch(self, documents: int) -> EncodedBatch:
        """What was scanned, as arrays of their own."""
        nodes, texts, values = (int(self.state[entry]) for entry in (NODES, TEXTS, VALUES))
        with_values = self.work.with_values
        lengths = dict.fromkeys(_PER_NODE, nodes) | dict.fromkeys(_PER_TEXT, texts) | {"values": values}
        lengths |= dict.fromkeys(_PER_DOCUMENT, documents + 1) | {"status": documents}
        if not with_values:
            lengths |= {"value_start": 0, "value_end": 0}
        arrays = {name: getattr(self.output, name)[: lengths[name]].copy() for name in _TYPES}
        return freeze(EncodedBatch(version=ENCODING_VERSION, with_values=with_values, **arrays))

    def _resize(self, names: tuple[str, ...], size: int) -> None:
        """Make these arrays, which are equally long, at least `size` long; their content stays."""
        if getattr(self.output, names[0]).size >= size:
            return
        arrays: dict[str, Any] = {}
        for name in names:
            old = getattr(self.output, name)
            arrays[name] = np.empty(size, old.dtype)
            arrays[name][: old.size] = old
        output = self.output._replace(**arrays)
        self.output = output._replace(node_capacity=output.path.size, text_capacity=output.text_parent.size)
