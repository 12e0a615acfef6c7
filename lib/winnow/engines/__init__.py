"""Engines by name: which patterns does each encoded document satisfy? All give the same matches."""

from importlib import import_module
from typing import cast

from winnow.encoding import PathTable, Vocabulary
from winnow.engines.base import Engine, Funnel, Matches
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
}
DEFAULT_ENGINE = "boxpath"

__all__ = ["DEFAULT_ENGINE", "ENGINES", "Engine", "Funnel", "Matches", "create"]


def create(name: str, vocabulary: Vocabulary, paths: PathTable) -> Engine:
    """A new, empty engine over these tables; an encoder grows the same ones."""
    if name not in ENGINES:
        raise UsageError("unknown_engine", f"there is no engine {name!r}", hint=f"one of {', '.join(ENGINES)}")
    module, _, attribute = ENGINES[name].partition(":")
    return cast("type[Engine]", getattr(import_module(module), attribute))(vocabulary, paths)
