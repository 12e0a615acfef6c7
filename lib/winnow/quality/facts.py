"""What the gate knows: numbers by name, and examples for people."""

from collections.abc import Iterable
from dataclasses import dataclass, field

_EXAMPLES = 5


@dataclass
class Facts:
    """A number is None where the question does not arise; one that is missing is a mistake, not a pass."""

    numbers: dict[str, float | None] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def count(self, name: str, found: Iterable[str]) -> None:
        """So many were found; the first few are examples."""
        every = list(found)
        self.numbers[name] = len(every)
        self.examples[name] = every[:_EXAMPLES]

    def absent(self, *names: str) -> None:
        self.numbers |= dict.fromkeys(names)

    def add(self, other: "Facts") -> None:
        self.numbers |= other.numbers
        self.examples |= other.examples
