"""Twenty DTDs of different shape, each made from a seed: flat and deep, narrow and wide, recursive, full of values.

They stand for the twenty that BoXFilter was measured with (VLDB 2007, §5.1), which were not published. `news` has the
size of NITF 2.5, which the other papers use: 123 elements, about 513 attributes, most elements recursive.
"""

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import NamedTuple

from winnow.generate.synthetic import syllables


class Shape(NamedTuple):
    elements: int
    layers: int  # levels of a document without recursion
    children: int  # names in a model, about
    recursion: float = 0.0  # probability that an inner element may hold some of its own or a higher layer
    attributes: float = 0.5  # an element, on average
    text: float = 0.8  # share of the leaves that have text; the others are empty
    mixed: float = 0.0  # share of the inner elements with text between their children
    choices: float = 0.3  # share of the names that stand in a choice
    required: int = 1  # names of a model that may not be missing
    links: bool = False  # ID and IDREF attributes


SHAPES = {
    "tiny": Shape(6, 3, 3),
    "tiny-recursive": Shape(6, 3, 3, recursion=1.0),
    "flat-narrow": Shape(12, 2, 11, choices=0.0, required=4),
    "flat-wide": Shape(80, 2, 79, choices=0.1, required=3),
    "flat-attributes": Shape(30, 2, 29, attributes=6.0, text=0.1),
    "records": Shape(25, 3, 9, choices=0.0, required=3),
    "messages": Shape(60, 4, 9, attributes=2.0),
    "choices": Shape(60, 5, 8, choices=1.0),
    "sequences": Shape(40, 4, 5, choices=0.0, required=3),
    "attributes": Shape(50, 5, 6, attributes=5.0, text=0.2),
    "values": Shape(50, 4, 8, attributes=1.0, text=1.0),
    "links": Shape(40, 4, 6, attributes=1.5, links=True),
    "mixed": Shape(40, 5, 7, mixed=0.7),
    "mixed-recursive": Shape(40, 5, 7, recursion=0.6, mixed=0.7),
    "deep-narrow": Shape(45, 14, 3),
    "deep-wide": Shape(150, 9, 10),
    "deep-attributes": Shape(80, 10, 5, attributes=4.0),
    "recursive-wide": Shape(100, 5, 12, recursion=0.8),
    "large": Shape(400, 7, 14, attributes=2.0),
    "news": Shape(123, 6, 9, recursion=0.7, attributes=4.2, mixed=0.3),
}


def make_dtd(name: str, seed: int = 1) -> str:
    """The text of the DTD of a shape. Another seed gives another DTD of the same shape.

    >>> make_dtd("tiny") == make_dtd("tiny"), make_dtd("tiny") == make_dtd("tiny", seed=2)
    (True, False)
    """
    r, shape = Random(f"dtd/{name}/{seed}"), SHAPES[name]
    names = [f"{syllables(r)}{number:02x}" for number in range(shape.elements)]
    bounds = [0, *(1 + k * (shape.elements - 1) // (shape.layers - 1) for k in range(shape.layers))]
    layers = [names[a:b] for a, b in pairwise(bounds)]
    lines = [line for depth in range(shape.layers) for line in _layer(shape, layers, depth, r)]
    return "\n".join(lines) + "\n"


def _layer(shape: Shape, layers: list[list[str]], depth: int, r: Random) -> Iterator[str]:
    below = layers[depth + 1] if depth + 1 < len(layers) else []
    above = [name for layer in layers[1 : depth + 1] for name in layer]
    owed = r.sample(below, len(below))  # every element can be reached from the layer above it
    for place, name in enumerate(layers[depth]):
        share = owed[place :: len(layers[depth])]
        others = [other for other in r.sample(below, min(shape.children, len(below))) if other not in share]
        own = share + others[: max(shape.children - len(share), 0)]
        again = r.sample(above, min(len(above), 3)) if above and r.random() < shape.recursion else []
        yield f"<!ELEMENT {name} {_model(shape, own, again, r)}>"
        yield from _attributes(shape, name, r)


def _model(shape: Shape, own: list[str], again: list[str], r: Random) -> str:
    """What is recursive is never required: every document can be finished."""
    if not own and not again:
        return "(#PCDATA)" if r.random() < shape.text else "EMPTY"
    if r.random() < shape.mixed or not own:
        return f"(#PCDATA | {' | '.join(dict.fromkeys(own + again))})*"
    required, free = own[: shape.required], own[shape.required :]
    parts = [name + r.choice(("", "", "+")) for name in required]
    chosen = [name for name in free if r.random() < shape.choices]
    parts += [name + r.choice("?*") for name in free if name not in chosen]
    while chosen:
        size = r.randint(2, 5)
        group, chosen = chosen[:size], chosen[size:]
        parts.append(f"({' | '.join(group)}){r.choice('?**')}")
    r.shuffle(parts)
    if again:
        parts.append(f"({' | '.join(again)})*")
    return f"({', '.join(parts)})"


def _attributes(shape: Shape, name: str, r: Random) -> Iterator[str]:
    count = int(shape.attributes) + (r.random() < shape.attributes % 1)
    for number in range(count):
        choices = " | ".join(syllables(r) for _ in range(r.randint(2, 6)))
        kind = r.choice(("CDATA", "CDATA", "CDATA", "NMTOKEN", f"({choices})"))
        yield f"<!ATTLIST {name} {syllables(r)}{number} {kind} {r.choice(('#REQUIRED', '#IMPLIED', '#IMPLIED'))}>"
    if shape.links:
        yield f"<!ATTLIST {name} id ID #REQUIRED to IDREF #IMPLIED>"
