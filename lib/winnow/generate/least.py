"""How little an element may have: levels and elements of its smallest content, by iteration to a fixed point."""

from collections.abc import Callable, Iterable

from winnow.generate.dtd import Dtd, Kind, Particle

_ENDLESS = float("inf")


class Least:
    """Infinite for elements that cannot be finished: they require themselves, or something that is not declared."""

    def __init__(self, dtd: Dtd) -> None:
        self.heights = dict.fromkeys(dtd.elements, _ENDLESS)
        self.sizes = dict.fromkeys(dtd.elements, _ENDLESS)
        self._heights_once: dict[int, float] = {}  # by the identity of a part
        has_changed = True
        while has_changed:
            has_changed = False
            for name, element in dtd.elements.items():
                height = 1 + (self.height(element.model) if element.model else 0)
                size = 1 + (self.size(element.model) if element.model else 0)
                if (height, size) != (self.heights[name], self.sizes[name]):
                    self.heights[name], self.sizes[name] = height, size
                    has_changed = True
            self._heights_once.clear()

    def height(self, part: Particle) -> float:
        return 0 if part.optional else self.height_once(part)

    def height_once(self, part: Particle) -> float:
        """As if it had to be there."""
        known = self._heights_once.get(id(part))
        if known is None:
            known = self._heights_once[id(part)] = _least(part, self.heights, self.height, max)
        return known

    def size(self, part: Particle) -> float:
        return 0 if part.optional else _least(part, self.sizes, self.size, sum)


def _least(
    part: Particle,
    names: dict[str, float],
    of: Callable[[Particle], float],
    together: Callable[[Iterable[float]], float],
) -> float:
    if part.kind == Kind.NAME:
        return names.get(part.name, _ENDLESS)
    parts = [of(each) for each in part.parts]
    return together(parts) if part.kind == Kind.SEQUENCE else min(parts)
