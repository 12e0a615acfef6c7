"""Engines by name: those of this package, and those that other packages register by an entry point.

A package registers an engine in its own metadata, and names a subclass of `winnow.engines.base.Engine`:

    [project.entry-points."winnow.engines"]
    my-engine = "my_package.my_module:MyEngine"

Importing this module imports no kernel, so that a client that has none can check a name.
"""

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from winnow.errors import UsageError

if TYPE_CHECKING:
    from winnow.encoding import PathTable, Vocabulary
    from winnow.engines.base import Engine

ENTRY_POINTS = "winnow.engines"
ENGINES = {
    "boxpath": "winnow.engines.boxpath.engine:BoxPath",
    "boxfilter": "winnow.engines.boxfilter.engine:BoxFilter",
    "b-boxfilter": "winnow.engines.boxfilter.engine:BatchBoxFilter",
    "nfa": "winnow.engines.automata.nfa:Nfa",
    "buff": "winnow.engines.automata.buff:Buff",
    "xfilter": "winnow.engines.automata.xfilter:XFilter",
    "xtrie": "winnow.engines.xtrie.engine:XTrie",
    "xtrie-eager": "winnow.engines.xtrie.engine:EagerXTrie",
    "wfilter": "winnow.engines.wfilter.engine:WFilter",
}
DEFAULT_ENGINE = "boxpath"


def engine_names() -> tuple[str, ...]:
    """The names of all engines that are installed, those of this package first."""
    return (*ENGINES, *sorted({point.name for point in _registered()} - ENGINES.keys()))


def check_name(name: str) -> None:
    """Refuses a name that no installed engine has; nothing of the engine is imported."""
    base = name.partition("+")[0]
    if base not in ENGINES and base not in {point.name for point in _registered()}:
        raise UsageError("unknown_engine", f"there is no engine {base!r}", hint=f"one of {', '.join(engine_names())}")


def resolve(name: str) -> "tuple[type[Engine], str]":
    """The class of an engine and its strategy for values; none is an empty one.

    The structural engines take a strategy behind a plus sign, as in `nfa+bottom-up`.
    """
    from winnow.engines.automata.strategies import STRATEGIES

    check_name(name)
    base, plus, strategy = name.partition("+")
    kind = _class_of(base)
    if plus and strategy not in getattr(kind, "strategies", ()):
        strategies = f"+{', +'.join(STRATEGIES)} behind nfa, buff or xfilter"
        raise UsageError("unknown_strategy", f"there is no engine {name!r}", hint=strategies)
    return kind, strategy


def create(name: str, vocabulary: "Vocabulary", paths: "PathTable") -> "Engine":
    """A new, empty engine over these tables; an encoder grows the same ones."""
    from winnow.engines.automata.filtering import FilteringEngine
    from winnow.engines.automata.pruned import PrunedEngine
    from winnow.engines.automata.strategies import PRUNED, PRUNED_RANDOM

    kind, strategy = resolve(name)
    if not strategy or not issubclass(kind, FilteringEngine):
        return kind(vocabulary, paths)
    if strategy in {PRUNED, PRUNED_RANDOM}:
        return PrunedEngine(kind, vocabulary, paths, random=strategy == PRUNED_RANDOM)
    return kind(vocabulary, paths, strategy)


def _class_of(base: str) -> "type[Engine]":
    from winnow.engines.base import Engine

    if base in ENGINES:  # no other package can take the place of an engine of this one
        module, _, attribute = ENGINES[base].partition(":")
        kind = getattr(import_module(module), attribute)
    else:
        points = [point for point in _registered() if point.name == base]
        if len({point.value for point in points}) > 1:
            values = " and ".join(point.value for point in points)
            raise UsageError("ambiguous_engine", f"two packages register the engine {base!r}: {values}")
        kind = points[0].load()
    if not (isinstance(kind, type) and issubclass(kind, Engine)):
        raise UsageError("not_an_engine", f"{base!r} is {kind!r}, no subclass of winnow.engines.base.Engine")
    return kind


def _registered() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=ENTRY_POINTS))
