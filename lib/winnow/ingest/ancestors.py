"""The open elements around the records of a container, and what namespaces are declared there.

A container is hostile: it may be a million elements deep and declare a namespace in each. So an element is opened and
closed in a time that does not depend on how many others are open, and only changes are remembered.
"""

from typing import NamedTuple

from winnow.ingest.tags import declarations, name_of


class _Ancestor(NamedTuple):
    name: bytes
    hidden: dict[bytes, bytes | None]  # what its declarations replaced; None was not declared before


class Ancestors:
    """
    >>> ancestors = Ancestors()
    >>> ancestors.open(b"<s xmlns='u' xmlns:p='v'>"), ancestors.open(b"<t xmlns='w'>")
    (None, None)
    >>> ancestors.declared
    {b'xmlns': b"'w'", b'xmlns:p': b"'v'"}
    >>> ancestors.close(b"</no>"), ancestors.close(b"</t>")
    (None, None)
    >>> ancestors.declared, ancestors.root
    ({b'xmlns': b"'u'", b'xmlns:p': b"'v'"}, b's')
    """

    def __init__(self) -> None:
        self.declared: dict[bytes, bytes] = {}  # namespaces in scope, as `tags.declarations` gives them
        self._open: list[_Ancestor] = []
        self._depths: dict[bytes, list[int]] = {}  # of the open elements with this name, outermost first

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, name: bytes) -> bool:
        return name in self._depths

    @property
    def root(self) -> bytes:
        """The name of the outermost, if one is open."""
        return self._open[0].name if self._open else b""

    def open(self, tag: bytes) -> None:
        name, declared = name_of(tag), declarations(tag)
        self._depths.setdefault(name, []).append(len(self._open))
        self._open.append(_Ancestor(name, {prefix: self.declared.get(prefix) for prefix in declared}))
        self.declared.update(declared)

    def close(self, tag: bytes) -> None:
        """Close the innermost element of this name and all inside it; an end tag that fits none is no one's."""
        depths = self._depths.get(name_of(tag))
        if depths:
            depth = depths[-1]
            while len(self._open) > depth:
                self._close_innermost()

    def _close_innermost(self) -> None:
        name, hidden = self._open.pop()
        depths = self._depths[name]
        depths.pop()
        if not depths:
            del self._depths[name]
        for prefix, uri in hidden.items():
            if uri is None:
                del self.declared[prefix]
            else:
                self.declared[prefix] = uri
