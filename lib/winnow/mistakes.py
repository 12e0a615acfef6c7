"""Finds what is probably mistaken in profiles that match none of some documents: by trying what would match."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from lxml import etree

from winnow.deciding.limits import DEFAULT_EVALUATION, EvaluationLimits
from winnow.given import Row
from winnow.matcher import Matcher
from winnow.parsing import parse
from winnow.xpath.corrections import PLACE, Correction, Names, corrections

_CHUNK = 500  # profiles whose corrections are tried together


class Mistake(NamedTuple):
    """A correction with which a profile would match."""

    profile_id: str
    words: tuple[str, ...]
    xpath: str
    namespaces: dict[str, str]
    documents: int  # that would match, of those that were given


def find_mistakes(
    profiles: Iterable[Row],
    documents: Sequence[tuple[str, bytes]],
    evaluation: EvaluationLimits = DEFAULT_EVALUATION,
) -> Iterator[Mistake]:
    """Yields, for profiles that match none of the documents, the correction that changes least and matches some.

    >>> (found,) = find_mistakes([("p", "/Order/Item", {}, False)], [("x", b"<order><item/></order>")])
    >>> found.xpath, found.documents
    ('/order/item', 1)
    """
    names = names_of(content for _, content in documents)
    rest = iter(profiles)
    while chunk := list(islice(rest, _CHUNK)):
        matcher = Matcher(chunk, evaluation=evaluation)
        answers = matcher.match(documents)
        known = {match.profile_id for match in answers}
        known |= {pair.profile_id for pair in answers.undecided} | {row.profile_id for row in matcher.rejected}
        silent = [row for row in chunk if row[0] not in known]
        yield from _corrected(silent, documents, names, evaluation)


def names_of(documents: Iterable[bytes]) -> Names:
    """Returns the names of elements and attributes in some documents; those that are none have none."""
    names = Names()
    for content in documents:
        try:
            root = parse(content)
        except etree.XMLSyntaxError:
            continue
        for element in root.iter(etree.Element):
            name = str(element.tag)
            names.elements[name] = names.elements.get(name, 0) + 1
            for attribute in element.attrib:
                names.attributes[str(attribute)] = names.attributes.get(str(attribute), 0) + 1
        names.defaults |= {
            str(uri) for element in root.iter(etree.Element) if (uri := element.nsmap.get(None)) is not None
        }
    return names


def _corrected(
    profiles: Sequence[Row], documents: Sequence[tuple[str, bytes]], names: Names, evaluation: EvaluationLimits
) -> Iterator[Mistake]:
    tried: dict[str, list[Correction]] = {row[0]: list(corrections(row[1], row[2], names)) for row in profiles}
    candidates = (
        (f"{number} {profile[0]}", correction.xpath, correction.namespaces, profile[3])
        for profile in profiles
        for number, correction in enumerate(tried[profile[0]])
    )
    counts: Counter[str] = Counter()
    places: dict[str, str] = {}
    for match in Matcher(candidates, evaluation=evaluation).match(documents):
        counts[match.profile_id] += 1
        place = match.witness if len(documents) == 1 else f"{match.witness} of {match.document}"
        places.setdefault(match.profile_id, place)
    for profile_id, made in tried.items():
        matching = [number for number in range(len(made)) if counts[f"{number} {profile_id}"]]
        if matching:
            best = min(matching, key=lambda number: (len(made[number].words), number))
            key = f"{best} {profile_id}"
            words = tuple(word.replace(PLACE, places[key]) for word in made[best].words)
            yield Mistake(profile_id, words, made[best].xpath, dict(made[best].namespaces), counts[key])
