"""A DTD as plain data: what may stand in each element, as libxml2 has understood it.

`read_dtd` asks lxml for the declarations; nothing here parses DTD text. Prefixes are bound by the `xmlns` attributes
that a DTD declares with a default, as XHTML does.
"""

from enum import IntEnum
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from winnow.errors import UsageError


class Kind(IntEnum):
    NAME = 0
    SEQUENCE = 1
    CHOICE = 2


class Particle(NamedTuple):
    """A part of a content model. It stands at least once unless `optional`, and any number of times when `many`."""

    kind: Kind
    optional: bool = False
    many: bool = False
    name: str = ""
    parts: tuple["Particle", ...] = ()


class Attribute(NamedTuple):
    name: str  # as written, with its prefix
    kind: str  # lxml's word: cdata, enumeration, id, idref, nmtoken, …
    use: str  # required, implied, fixed or none
    value: str | None  # the default
    choices: tuple[str, ...]


class Element(NamedTuple):
    name: str  # as written, with its prefix
    model: Particle | None  # none: no element may stand in it
    has_text: bool
    attributes: tuple[Attribute, ...]

    @property
    def namespaces(self) -> dict[str, str]:
        """Prefixes, "" for the default one, that every such element binds."""
        bound = {a.name: a.value for a in self.attributes if a.value is not None and a.name.split(":")[0] == "xmlns"}
        return {name.partition(":")[2]: uri for name, uri in bound.items()}


class Dtd(NamedTuple):
    name: str
    root: str
    elements: dict[str, Element]
    validator: etree.DTD


def read_dtd(source: Path | str, *, name: str, root: str = "") -> Dtd:
    """The DTD of a file, or of a text. Its root is the first element that stands in no other, if none is given."""
    try:
        validator = etree.DTD(str(source)) if isinstance(source, Path) else etree.DTD(StringIO(source))
    except (etree.DTDParseError, OSError) as error:
        words = next((str(entry) for entry in getattr(error, "error_log", ())), str(error))
        raise UsageError(
            "bad_dtd", f"{name} is not a DTD: {words}", hint="give a .dtd file or a shape's name"
        ) from error
    declared = {_name(element): element for element in validator.iterelements()}  # type: ignore[attr-defined]
    names: dict[str, list[str]] = {}
    for label, element in declared.items():
        names.setdefault(element.name, []).append(label)
    try:
        elements = {label: _element(label, element, names) for label, element in declared.items()}
    except _AmbiguousError as error:
        words = f"{name} has elements {' and '.join(names[str(error)])}: libxml2 does not say which stands where"
        raise UsageError("ambiguous_name", words, hint="give them different local names") from error
    if not elements:
        raise UsageError("bad_dtd", f"{name} declares no element", hint="give a file of <!ELEMENT …> declarations")
    if root and root not in elements:
        raise UsageError("no_root", f"{name} declares no element {root!r}", hint=f"one of {', '.join(elements)}"[:200])
    bound = {prefix for element in elements.values() for prefix in element.namespaces} | {"", "xml", "xmlns"}
    for label in (n for e in elements.values() for n in (e.name, *(a.name for a in e.attributes))):
        if ":" in label and label.split(":")[0] not in bound:
            words = f"{name} uses the prefix of {label!r} without binding it"
            raise UsageError("unbound_prefix", words, hint="declare xmlns:… as an attribute with a default")
    return Dtd(name, root or _root(elements), elements, validator)


def children(element: Element) -> tuple[str, ...]:
    """Names that may stand directly in it, each once, in the order of the model."""
    found: dict[str, None] = {}
    parts = [element.model] if element.model else []
    while parts:
        part = parts.pop()
        if part.kind == Kind.NAME:
            found[part.name] = None
        parts += reversed(part.parts)
    return tuple(found)


def _root(elements: dict[str, Element]) -> str:
    inner = {name for element in elements.values() for name in children(element) if name != element.name}
    return next((name for name in elements if name not in inner), next(iter(elements)))


def _name(declaration: Any) -> str:
    return f"{declaration.prefix}:{declaration.name}" if declaration.prefix else str(declaration.name)


class _AmbiguousError(Exception):
    """Content models come without prefixes."""


def _element(name: str, declaration: Any, names: dict[str, list[str]]) -> Element:
    attributes = sorted(
        Attribute(_name(a), a.type, a.default, a.default_value, tuple(a.values())) for a in declaration.iterattributes()
    )
    model = None
    if declaration.type == "any":
        model = Particle(
            Kind.CHOICE, True, True, parts=tuple(Particle(Kind.NAME, name=n) for ns in names.values() for n in ns)
        )
    elif declaration.content is not None:
        model = _particle(declaration.content, names)
    return Element(name, model, declaration.type in {"any", "mixed"}, tuple(attributes))


def _particle(content: Any, names: dict[str, list[str]]) -> Particle | None:
    """None for text: whether an element may have it is said once, by its type."""
    optional, many = content.occur in {"opt", "mult"}, content.occur in {"mult", "plus"}
    if content.type == "element":
        known = names.get(content.name, [content.name])
        if len(known) > 1:
            raise _AmbiguousError(content.name)
        return Particle(Kind.NAME, optional, many, known[0])
    if content.type == "pcdata":
        return None
    parts = tuple(part for each in _flat(content) if (part := _particle(each, names)))
    kind = Kind.SEQUENCE if content.type == "seq" else Kind.CHOICE
    return Particle(kind, optional, many, parts=parts) if parts else None


def _flat(content: Any) -> list[Any]:
    """libxml2 has `(a, b, c)` as `(a, (b, c))`: the parts in one list, however long it is."""
    parts, rest = [content.left], content.right
    while rest is not None and rest.type == content.type and rest.occur == "once":
        parts.append(rest.left)
        rest = rest.right
    return parts if rest is None else [*parts, rest]
