"""Winnow: which of these XPath profiles does each of these XML documents satisfy?

`winnow.Matcher` is the way in for programs. It is loaded on first use, so that `import winnow` stays light.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from winnow.matcher import Matcher

__version__ = "0.1.0"
__all__ = ["Matcher", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "Matcher":
        from winnow.matcher import Matcher

        return Matcher
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
