"""The profiles of one index partition, ready to be asked: what an index file holds. For workers only."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.matcher import Matcher

Bytes = npt.NDArray[np.uint8]


class IndexedProfiles(NamedTuple):
    """A frozen matcher and the ids of its profiles, by slot, as the two buffers of an Arrow string column."""

    id_ends: npt.NDArray[np.int32]
    id_text: Bytes
    matcher: Matcher

    @classmethod
    def of(cls, profile_ids: pa.StringArray, matcher: Matcher) -> "IndexedProfiles":
        lengths = pa.compute.fill_null(pa.compute.binary_length(profile_ids), 0).to_numpy(zero_copy_only=False)
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return cls(ends, np.frombuffer("".join(profile_ids.to_pylist()).encode(), np.uint8), matcher)

    @property
    def profile_ids(self) -> pa.StringArray:
        """By slot, without a copy."""
        return pa.StringArray.from_buffers(
            self.id_ends.size - 1, pa.py_buffer(self.id_ends), pa.py_buffer(self.id_text)
        )
