"""Winnow: which of these XPath profiles does each of these XML documents satisfy?

`winnow.Matcher` is the way in for programs. It is loaded on first use, so that `import winnow` stays light.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winnow.answers import Answers, Match, RefusedDocument, RejectedProfile, UndecidedPair
    from winnow.matcher import Matcher

__version__ = "0.1.0"
__all__ = ["Answers", "Match", "Matcher", "RefusedDocument", "RejectedProfile", "UndecidedPair", "__version__"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from winnow import matcher

        return getattr(matcher, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
