"""Profiles as walks down a guide, with the parameters that the papers use (XTrie, ICDE 2002, §6; DEBS 2010, §6.1).

A walk starts at the root and goes to one of the labels below, again and again; the skew θ says how much the first of
them are preferred. Each step may become `*` and get `//` before it, may have a branch, and may be asked for values that
documents of the same guide have.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from winnow.errors import UsageError
from winnow.generate.guide import LONGEST_VALUE, Guide
from winnow.generate.values import zipf

_ATTEMPTS = 5000  # walks in a row that gave nothing new


class ProfileOptions(NamedTuple):
    steps: int = 10  # L, at most
    shortest: int = 2
    wildcard: float = 0.1  # p_w, at each step
    descendant: float = 0.1  # p_d, at each step
    branch: float = 0.0  # p_b, at each step
    skew: float = 0.0  # θ, of the choice between labels
    predicates: int = 0  # of those profiles that have some
    predicate_share: float = 1.0  # of the profiles
    attribute_share: float = 0.5  # of the predicates: those that ask for an attribute, where there is one
    value_share: float = 1.0  # of the predicates: those that compare; the others ask whether it is there
    only_equal: bool = False  # no comparison but `=`


class Made(NamedTuple):
    xpath: str
    namespaces: tuple[tuple[str, str], ...]


class ProfileMaker:
    def __init__(self, guides: Sequence[Guide], options: ProfileOptions, seed: int) -> None:
        self._guides, self._options, self._seed = guides, options, seed
        self._namespaces = [tuple(guide.namespaces.items()) for guide in guides]

    def along(self, guides: Sequence[Guide]) -> "ProfileMaker":
        """The same, on other guides."""
        return ProfileMaker(guides, self._options, self._seed)

    def distinct(self, stream: str = "profiles", stray: float = 0.0) -> Iterator[Made]:
        """Distinct profiles, as many as there are; a share of them with a label where it does not belong."""
        r = Random(f"{stream}/{self._seed}")
        seen: set[Made] = set()
        failures = 0
        while failures < _ATTEMPTS:
            made = self._make(r, r.random() < stray)
            if made is None or made in seen:
                failures += 1
                continue
            failures = 0
            seen.add(made)
            yield made

    def _make(self, r: Random, is_stray: bool) -> Made | None:
        number = r.randrange(len(self._guides))
        walk = _Walk(self._guides[number], self._options, r)
        xpath = walk.profile(is_stray)
        if xpath is None:
            return None
        return Made(xpath, tuple(bound for bound in self._namespaces[number] if f"{bound[0]}:" in xpath))


class _Walk:
    def __init__(self, guide: Guide, options: ProfileOptions, r: Random) -> None:
        self._guide, self._options, self._r = guide, options, r

    def profile(self, is_stray: bool) -> str | None:
        options, r = self._options, self._r
        places = self._down([0], r.randint(options.shortest, options.steps))
        if len(places) < options.shortest:
            return None
        tests = [[] for _ in places]  # type: list[list[str]]
        for step, place in enumerate(places):
            if r.random() < options.branch and self._guide.places[place].below:
                line = self._down([place], r.randint(2, max(2, options.steps - step)))[1:]
                tests[step].append(self._relative(line))
        if options.predicates and r.random() < options.predicate_share:
            askable = [
                k for k, p in enumerate(places) if self._guide.places[p].attributes or self._guide.places[p].has_text
            ]
            if not askable:
                return None
            for _ in range(options.predicates):
                step = r.choice(askable)
                test = self._predicate(places[step])
                if test is None or test in tests[step]:
                    return None
                tests[step].append(test)
        names = [self._name(place) for place in places]
        if is_stray:
            names[r.randrange(len(names))] = r.choice(self._guide.places).name
        return "".join(
            self._axis() + name + "".join(f"[{test}]" for test in asked)
            for name, asked in zip(names, tests, strict=True)
        )

    def _down(self, places: list[int], length: int) -> list[int]:
        while len(places) < length and (below := self._guide.places[places[-1]].below):
            places.append(self._r.choices(below, cum_weights=zipf(len(below), self._options.skew))[0])
        return places

    def _relative(self, line: list[int]) -> str:
        text = "".join(self._axis() + self._name(place) for place in line)
        return f".{text}" if text.startswith("//") else text[1:]

    def _axis(self) -> str:
        return "//" if self._r.random() < self._options.descendant else "/"

    def _name(self, place: int) -> str:
        return "*" if self._r.random() < self._options.wildcard else self._guide.places[place].name

    def _predicate(self, place: int) -> str | None:
        options, r = self._options, self._r
        attributes, has_text = self._guide.places[place].attributes, self._guide.places[place].has_text
        attribute = ""
        if attributes and (not has_text or r.random() < options.attribute_share):
            attribute = r.choice(attributes)
        asked = f"@{attribute}" if attribute else "text()"
        if r.random() >= options.value_share:
            return asked
        return comparison(asked, self._guide.draw(place, attribute, r), r, options.only_equal)


def comparison(asked: str, value: str, r: Random, only_equal: bool) -> str | None:
    """A test that this value passes; none where XPath cannot write it or nobody would.

    >>> comparison("@id", "7.5", Random(1), only_equal=True), comparison("text()", "O'Neil", Random(1), only_equal=True)
    ("@id = '7.5'", 'text() = "O\\'Neil"')
    """
    quote = "'" if "'" not in value else '"'
    if quote in value or not value or len(value) > LONGEST_VALUE:
        return None
    if only_equal or r.random() < 0.6:
        return f"{asked} = {quote}{value}{quote}"
    if _is_number(value):
        return f"{asked} {r.choice(('=', '<=', '>='))} {value}"
    function, part = r.choice((("contains", value[1:-1]), ("starts-with", value[:3])))
    return f"{asked}[{function}(., {quote}{part or value}{quote})]"


def _is_number(text: str) -> bool:
    whole, _, fraction = text.partition(".")
    return text.isascii() and whole.isdecimal() and (fraction.isdecimal() or "." not in text)


def take(made: Iterator[Made], count: int) -> Iterator[Made]:
    """`count` of them; an error says how many there were, if not so many."""
    number = 0
    for number, profile in enumerate(made, 1):
        yield profile
        if number == count:
            return
    words = f"only {number:,} of {count:,} distinct profiles can be made in this way"
    raise UsageError("too_few_profiles", words, hint="allow more steps, wildcards, branches or predicates")
