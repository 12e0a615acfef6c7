"""Synthetic documents and profiles of one random schema, for tests and benchmarks of any size.

A schema says which labels may stand below which, some of them far more often than others, as in real vocabularies: so
documents differ, their paths repeat. Profiles are walks down the same schema, which makes them likely to match.
Everything is a function of the seed.
"""

from collections.abc import Callable, Iterator
from itertools import accumulate
from random import Random
from typing import NamedTuple


class Shape(NamedTuple):
    labels: int = 120
    children: int = 10  # labels that may stand below a label
    skew: float = 3.2  # of their frequencies: the k-th has weight 1 / k**skew
    depth: int = 8
    elements: int = 100
    words: int = 2000


class Step(NamedTuple):
    wildcard: float = 0.1
    descendant: float = 0.1


USUAL, STEPS, TWIG_STEPS = Shape(), Step(), Step(0.05, 0.1)


class Schema:
    """
    >>> schema = Schema(seed=1)
    >>> schema.document(Random(1)) == Schema(seed=1).document(Random(1)), schema.document(Random(2)).count(b"</")
    (True, 100)
    """

    def __init__(self, seed: int, shape: Shape = USUAL) -> None:
        r = Random(f"schema/{seed}")
        self.shape = shape
        self.names = [f"{syllables(r)}{n:02x}" for n in range(shape.labels)]
        self._below = [r.sample(range(1, shape.labels), shape.children) for _ in range(shape.labels)]
        self._weights = list(accumulate(1 / (k + 1) ** shape.skew for k in range(shape.children)))
        self._words = ["".join(r.choices("abcdefghijklmnopqrstuvwxyz", k=r.randint(3, 9))) for _ in range(shape.words)]
        self._word_weights = list(accumulate(1 / (k + 1) for k in range(shape.words)))

    # -- documents

    def documents(self, count: int, seed: int = 0) -> list[bytes]:
        r = Random(f"documents/{seed}")
        return [self.document(r) for _ in range(count)]

    def document(self, r: Random) -> bytes:
        """Elements are hung below random earlier ones; leaves have a value, a third of all elements an attribute."""
        labels, depths, below = [0], [1], [[]]  # type: tuple[list[int], list[int], list[list[int]]]
        while len(labels) < self.shape.elements:
            parent = len(labels) - 1 - int(r.random() ** 2 * len(labels))
            if depths[parent] == self.shape.depth:
                continue
            below[parent].append(len(labels))
            labels.append(self._child(labels[parent], r))
            depths.append(depths[parent] + 1)
            below.append([])
        out: list[str] = []
        self._write(0, labels, below, out, r)
        return "".join(out).encode()

    def _write(self, node: int, labels: list[int], below: list[list[int]], out: list[str], r: Random) -> None:
        name = self.names[labels[node]]
        out.append(f'<{name} id="{self._value(labels[node], r)}">' if r.random() < 0.33 else f"<{name}>")
        if below[node]:
            out.append("\n")
            for child in below[node]:
                self._write(child, labels, below, out, r)
        else:
            out.append(self._value(labels[node], r))
        out.append(f"</{name}>\n")

    def _child(self, label: int, r: Random) -> int:
        return r.choices(self._below[label], cum_weights=self._weights)[0]

    def _value(self, label: int, r: Random) -> str:
        """A label has numbers or words, never both."""
        if label % 3 == 0:
            return f"{r.randrange(10000) / 100:g}"
        return r.choices(self._words, cum_weights=self._word_weights)[0]

    # -- profiles

    def paths(self, seed: int = 0, step: Step = STEPS, *, shortest: int = 0) -> Iterator[str]:
        """Distinct path profiles without end. Labels are chosen evenly, so that most are rare in documents.

        They have `shortest` steps, by default more than half of the depth, up to as many as documents are deep.
        """
        r = Random(f"paths/{seed}")
        return _distinct(lambda: self.path(r, step, shortest))

    def path(self, r: Random, step: Step = STEPS, shortest: int = 0) -> str:
        labels = [0]
        for _ in range(r.randint((shortest or self.shape.depth // 2 + 1) - 1, self.shape.depth - 1)):
            labels.append(r.choice(self._below[labels[-1]]))
        return self._steps(labels, r, step)

    def twigs(self, seed: int = 0, *, valued: float = 0.5, step: Step = TWIG_STEPS) -> Iterator[str]:
        """Distinct twigs: a spine with one to three branches; a share of them with a value test."""
        r = Random(f"twigs/{seed}")
        return _distinct(lambda: self.twig(r, r.random() < valued, step))

    def twig(self, r: Random, is_valued: bool, step: Step) -> str:
        labels = [0]
        for _ in range(r.randint(3, self.shape.depth // 2 + 1)):
            labels.append(self._likely(labels[-1], r))
        branches = []
        for _ in range(r.randint(1, 3)):
            line = [self._likely(labels[-1], r)]
            while r.random() < 0.4:
                line.append(self._likely(line[-1], r))
            branches.append((self._steps(line, r, step).lstrip("/"), line[-1]))
        tests = [f"[{branch}]" for branch, _ in branches]
        if is_valued:
            branch, label = branches[0]
            tests[0] = f"[{self._test(branch, label, r)}]"
        return self._steps(labels, r, step) + "".join(tests)

    def _likely(self, label: int, r: Random) -> int:
        """A branch needs several things at once: choosing evenly would hardly ever match."""
        return self._child(label, r) if r.random() < 0.3 else r.choice(self._below[label])

    def _test(self, branch: str, label: int, r: Random) -> str:
        place = r.choice((branch, branch, f"{branch}/@id"))
        if label % 3 == 0 and not branch.endswith("*"):
            return f"{place} {r.choice(('=', '<', '>', '>='))} {r.randrange(10000) / 100:g}"
        word = r.choices(self._words, cum_weights=self._word_weights)[0]
        kind = r.random()
        if kind < 0.7:
            return f"{place} = '{word}'"
        if kind < 0.8:
            return f"{place} != '{word}'"
        return f"{place}[{'contains' if kind < 0.9 else 'starts-with'}(., '{word[:4]}')]"

    def _steps(self, labels: list[int], r: Random, step: Step) -> str:
        return "".join(
            ("//" if r.random() < step.descendant else "/") + ("*" if r.random() < step.wildcard else self.names[label])
            for label in labels
        )


def syllables(r: Random) -> str:
    return "".join(r.choice("bcdfghklmnprst") + r.choice("aeiou") for _ in range(r.randint(3, 5)))


def _distinct(make: Callable[[], str]) -> Iterator[str]:
    seen: set[str] = set()
    while True:
        made = make()
        if made not in seen:
            seen.add(made)
            yield made
