"""Engines by name: which patterns does each encoded document satisfy? All give the same matches."""

from importlib import import_module

from winnow.encoding import PathTable, Vocabulary
from winnow.engines.base import Engine, Funnel, Matches
from winnow.engines.filtering import FilteringEngine
from winnow.engines.pruned import PrunedEngine
from winnow.engines.strategies import PRUNED, PRUNED_RANDOM, STRATEGIES
from winnow.errors import UsageError

ENGINES = {
    "boxpath": "winnow.engines.boxpath:BoxPath",
    "boxfilter": "winnow.engines.boxfilter:BoxFilter",
    "b-boxfilter": "winnow.engines.boxfilter:BatchBoxFilter",
    "nfa": "winnow.engines.nfa:Nfa",
    "buff": "winnow.engines.buff:Buff",
    "xfilter": "winnow.engines.xfilter:XFilter",
    "xtrie": "winnow.engines.xtrie:XTrie",
    "xtrie-eager": "winnow.engines.xtrie:EagerXTrie",
    "wfilter": "winnow.engines.wfilter:WFilter",
}
DEFAULT_ENGINE = "boxpath"

__all__ = ["DEFAULT_ENGINE", "ENGINES", "STRATEGIES", "Engine", "Funnel", "Matches", "create", "resolve"]


def resolve(name: str) -> tuple[type[Engine], str]:
    """The class of an engine and its strategy for values; none is an empty one.

    The structural engines take a strategy behind a plus sign, as in `nfa+bottom-up`.
    """
    base, plus, strategy = name.partition("+")
    if base not in ENGINES:
        raise UsageError("unknown_engine", f"there is no engine {base!r}", hint=f"one of {', '.join(ENGINES)}")
    module, _, attribute = ENGINES[base].partition(":")
    kind: type[Engine] = getattr(import_module(module), attribute)
    if plus and strategy not in getattr(kind, "strategies", ()):
        strategies = f"+{', +'.join(STRATEGIES)} behind nfa, buff or xfilter"
        raise UsageError("unknown_strategy", f"there is no engine {name!r}", hint=strategies)
    return kind, strategy


def create(name: str, vocabulary: Vocabulary, paths: PathTable) -> Engine:
    """A new, empty engine over these tables; an encoder grows the same ones."""
    kind, strategy = resolve(name)
    if not strategy or not issubclass(kind, FilteringEngine):
        return kind(vocabulary, paths)
    if strategy in {PRUNED, PRUNED_RANDOM}:
        return PrunedEngine(kind, vocabulary, paths, random=strategy == PRUNED_RANDOM)
    return kind(vocabulary, paths, strategy)
