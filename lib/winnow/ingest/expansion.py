"""How much may come out of one file: the one budget that all readers of its archive, compression and records share.

A small file can hold very much: zeros that deflate a thousandfold, ZIP members that share their bytes, compressed
members of a compressed archive, millions of empty members, long namespaces that every record of a container inherits.
What is allowed grows with the file as it was sent, so the
work for a file is a multiple of its bytes, however they are packed. The sizes that an archive states are not believed:
what has come out is counted.

Nesting has no number: an archive in an archive is refused, and a compressed member spends from its archive's budget.
"""

from typing import NamedTuple

from winnow.ingest.names import printable


class Bound(NamedTuple):
    """So much for each byte of a file, but never less than `least` nor more than `most`.

    >>> [Bound(200, 1000, 5000).allowed(size) for size in (1, 10, 100)]
    [1000, 2000, 5000]
    """

    per_byte: float
    least: int
    most: int

    def allowed(self, size: int) -> int:
        return min(max(int(size * self.per_byte), self.least), self.most)


class ExpansionLimits(NamedTuple):
    unpacked: Bound = Bound(200, 64 << 20, 1 << 40)  # bytes out of compression or inherited; XML stays far below 200
    members: Bound = Bound(0.25, 1_000_000, 100_000_000)  # and records, of which the shortest, `<r/>`, has 4 bytes
    zip_directory: int = 128 << 20  # bytes; it is held in memory, and over a million members fit in


DEFAULT_EXPANSION = ExpansionLimits()


class ExpansionError(Exception):
    """More comes out of a file than its budget allows; the message is a sentence for `quarantine`."""


class ExpansionBudget:
    """What may still come out of one file of `size` bytes."""

    def __init__(self, size: int, limits: ExpansionLimits) -> None:
        self.limits = limits
        self.member = ""  # the one that is being read
        self._size = size
        self._allowed_bytes = self._bytes = limits.unpacked.allowed(size)
        self._allowed_members = limits.members.allowed(size)
        self._members = 0

    def begin_member(self, name: str) -> str:
        """Counts a member of an archive, and returns the name under which it is known: none is without a name."""
        self.member = printable(name) or f"(member {self._members + 1})"
        self.count_member()
        return self.member

    def count_member(self) -> None:
        """Counts a member or a record."""
        self._members += 1
        if self._members > self._allowed_members:
            raise ExpansionError(
                f"more than {self._allowed_members} members and records in a file of {self._size} bytes: "
                "reading stopped here; split the file"
            )

    def room(self, wanted: int) -> int:
        """How many of the `wanted` bytes to unpack next: one byte when none is left, to see whether more would come."""
        return min(wanted, self._bytes) or 1

    def spend(self, unpacked: int) -> None:
        """Counts bytes that came out of compression, or that a record inherits."""
        self._bytes -= unpacked
        if self._bytes < 0:
            raise ExpansionError(
                f"a file of {self._size} bytes becomes more than {self._allowed_bytes}: reading stopped here; "
                "split the file, or raise --max-expansion if it is what it should be"
            )
