"""What the figures vary: workloads by x, the cheapest first, at the papers' sizes or at small ones."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from winnow.generate.profiles import ProfileOptions
from winnow.generate.selectivity import Targets
from winnow.reproduce.workload import Workload

Scale = Literal["quick", "full"]
Sweep: TypeAlias = Callable[[Scale], dict[float, Workload]]

_HALF = Targets(documents=0.5, profiles=0.25)
_BOX = Workload(1000, 10_000, walk=ProfileOptions(steps=10, shortest=3), targets=_HALF)
TRIE = Workload(250, 10_000, dtds=("news",), elements=100, depth=20, walk=ProfileOptions(steps=20))


def documents(scale: Scale) -> dict[float, Workload]:
    sizes, profiles = ((1000, 10_000, 100_000), 10_000) if scale == "full" else ((100, 300, 1000, 3000), 1000)
    return {size: _BOX._replace(documents=size, profiles=profiles) for size in sizes}


def queries(full: int, quick: int) -> Sweep:
    def sweep(scale: Scale) -> dict[float, Workload]:
        sizes = (1000, 10_000, 50_000, 100_000) if scale == "full" else (300, 1000, 3000)
        return {size: _BOX._replace(documents=full if scale == "full" else quick, profiles=size) for size in sizes}

    return sweep


def selectivity(scale: Scale) -> dict[float, Workload]:
    documents, profiles = (10_000, 10_000) if scale == "full" else (500, 1000)
    shares = (0.01, 0.1, 0.25, 0.5, 0.8)
    base = _BOX._replace(documents=documents, profiles=profiles)
    return {100 * share: base._replace(targets=Targets(share, 0.25)) for share in shares}


def stages(scale: Scale) -> dict[float, Workload]:
    sizes = (1000, 10_000, 100_000) if scale == "full" else (300, 1000, 3000)
    return {size: _BOX._replace(profiles=size, documents=1000 if scale == "full" else 500) for size in sizes}


def profiles(base: Workload, full: tuple[int, ...]) -> Sweep:
    def sweep(scale: Scale) -> dict[float, Workload]:
        documents, sizes = (base.documents, full) if scale == "full" else (100, (1000, 3000, 10_000))
        return {size: base._replace(documents=documents, profiles=size) for size in sizes}

    return sweep


def _varied(scale: Scale, **changes: Any) -> Workload:
    base = (
        TRIE._replace(documents=250, profiles=100_000)
        if scale == "full"
        else TRIE._replace(documents=60, profiles=3000)
    )
    return base._replace(**changes)


def lengths(scale: Scale) -> dict[float, Workload]:
    return {elements: _varied(scale, elements=elements) for elements in (20, 100, 1000)}


def descendants(scale: Scale) -> dict[float, Workload]:
    return {p: _varied(scale, walk=TRIE.walk._replace(descendant=p)) for p in (0.0, 0.1, 0.3, 0.5)}


def depths(scale: Scale) -> dict[float, Workload]:
    return {steps: _varied(scale, walk=TRIE.walk._replace(steps=steps)) for steps in (10, 20, 30)}


PLAIN = ProfileOptions(steps=8, wildcard=0.0, descendant=0.2)
ATTRIBUTES = ProfileOptions(
    steps=8, wildcard=0.1, descendant=0.2, predicates=1, predicate_share=0.5, attribute_share=1.0
)


def _peers(documents: int, profiles: int, predicates: int) -> Workload:
    walk = ProfileOptions(
        steps=6, wildcard=0.1, descendant=0.1, skew=0.5, predicates=predicates, attribute_share=0.5, only_equal=True
    )
    return Workload(documents, profiles, dtds=("news",), elements=60, walk=walk, distinct_values=20)


def peers_once(predicates: int) -> Sweep:
    def sweep(scale: Scale) -> dict[float, Workload]:
        documents, profiles = (1000, 100_000) if scale == "full" else (200, 5000)
        return {profiles: _peers(documents, profiles, predicates)}

    return sweep


def peers_by_predicates(scale: Scale) -> dict[float, Workload]:
    documents, profiles = (1000, 100_000) if scale == "full" else (200, 2000)
    return {predicates: _peers(documents, profiles, predicates) for predicates in (1, 2, 3, 4)}


def peers_by_profiles(scale: Scale) -> dict[float, Workload]:
    documents, sizes = (1000, (200_000, 500_000, 1_000_000)) if scale == "full" else (100, (500, 2000, 8000))
    return {profiles: _peers(documents, profiles, 2) for profiles in sizes}
