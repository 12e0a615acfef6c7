"""The oracle audit: libxml2 evaluates some pairs again, which are compared with what is to be published."""

import random
from typing import NamedTuple

from winnow.quality.answers import Answers, Some
from winnow.quality.facts import Facts
from winnow.quality.labels import held, needed
from winnow.quality.oracle import Job, Profile, evaluate
from winnow.quality.outcome import Outcome
from winnow.quality.pool import Pool, draw_pool
from winnow.quality.sample import Pair, Universe, census, matches, non_matches

_PER_DOCUMENT = 20  # pairs: parsing costs more than asking
_MOST_ANSWERS = 500_000  # of the chosen documents
_MAX_BYTES = 1 << 20  # of a document
_SECONDS = 60.0
FACTS = ("oracle_disagreements", "oracle_pairs", "oracle_share", "oracle_silent")


class Asked(NamedTuple):
    pairs: list[Pair]
    profiles: dict[int, Profile]


def oracle_facts(
    outcome: Outcome, answers: Answers, classes: list[str], rng: random.Random, *, size: int, documents: int
) -> Facts:
    """Of about `size` pairs of the `documents` and the profiles, whose `classes` these are."""
    few = documents * len(classes) <= size
    wanted = documents if few else max(4 * size // _PER_DOCUMENT, 1000)
    pool = draw_pool(outcome, wanted if classes else 0, _MAX_BYTES, rng)
    chosen = pool.documents if few else _chosen(answers, pool.documents, max(1, size // _PER_DOCUMENT), rng)
    contents = pool.contents(chosen)
    some = answers.some(chosen)
    universe = _universe(chosen, classes, some)
    if universe.pairs <= size:
        asked = Asked(pairs := census(universe), answers.questions({profile for _, profile in pairs}))
    else:
        asked = _sample(universe, answers, [contents[d] for d in chosen], size, rng)
    place = {profile: at for at, profile in enumerate(asked.profiles)}
    pairs = sorted(pair for pair in asked.pairs if pair[1] in place)
    job = Job([contents[d] for d in chosen], list(asked.profiles.values()), [(d, place[p]) for d, p in pairs])
    said = evaluate(job, seconds=_SECONDS)
    known = [(pair, answer) for pair, answer in zip(pairs, said, strict=True) if answer is not None]
    facts = Facts()
    wrong = [(chosen[d], p, answer) for (d, p), answer in known if answer != universe.is_match((d, p))]
    facts.count("oracle_disagreements", [_words(answers.name(p), d, p, answer, some) for d, p, answer in wrong])
    facts.numbers["oracle_pairs"] = len(known)
    facts.numbers["oracle_share"] = len(known) / len(pairs) if pairs else None
    facts.numbers["oracle_silent"] = int(bool(pairs) and not known)
    facts.examples["oracle_pairs"] = [_tale([pair for pair, _ in known], universe, pool)]
    return facts


def _chosen(answers: Answers, pool: list[str], size: int, rng: random.Random) -> list[str]:
    """Half of them by chance, half of those that satisfy a profile of the class that the fewest satisfy."""
    counts = answers.counts(pool)
    shuffled = rng.sample(pool, len(pool))
    rarest = min(counts.values(), key=len, default={})
    rare = [document for document in shuffled if document in rarest][: size // 2]
    chosen: list[str] = []
    total = 0
    for document in dict.fromkeys([*rare, *shuffled]):
        total += sum(count.get(document, 0) for count in counts.values())
        if len(chosen) == size or (chosen and total > _MOST_ANSWERS):
            break
        chosen.append(document)
    return sorted(chosen)


def _universe(chosen: list[str], classes: list[str], some: Some) -> Universe:
    place = {document: number for number, document in enumerate(chosen)}
    return Universe(
        len(chosen),
        classes,
        {place[document]: frozenset(profiles) for document, profiles in some.answers.items()},
        frozenset((place[document], profile) for document, profile in some.undecided),
        {place[document]: profiles for document, profiles in some.unasked.items()},
    )


def _sample(universe: Universe, answers: Answers, contents: list[bytes], size: int, rng: random.Random) -> Asked:
    count = len(universe.classes)
    pairs = matches(universe, size // 2, rng)
    some = answers.questions(rng.sample(range(count), min(count, size // 2)))
    labels = {number: needed(profile) for number, profile in some.items()}
    pairs += non_matches(universe, size - len(pairs), rng, labels, [held(content) for content in contents])
    return Asked(pairs, answers.questions({profile for _, profile in pairs}))


def _words(name: str, document: str, number: int, holds: bool, some: Some) -> str:
    what = f"document {document}, profile {name}"
    if holds:
        return f"{what}: not staged, libxml2 says it matches"
    was = "published" if (document, number) in some.published else "staged"
    return f"{what}: {was} as a match, libxml2 says it does not match"


def _tale(pairs: list[Pair], universe: Universe, pool: Pool) -> str:
    hits = sum(universe.is_match(pair) for pair in pairs)
    hybrid = sum(universe.classes[profile] == "hybrid" for _, profile in pairs)
    words = f"{hits} matches, {len(pairs) - hits} others, {hybrid} of hybrid profiles"
    return words + (f"; {pool.oversized} documents were too large" if pool.oversized else "")
