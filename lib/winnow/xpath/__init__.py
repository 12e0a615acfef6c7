"""The profile language: XPath 1.0 in, patterns out."""

from winnow.xpath.compiled import Class, Compiled, compile_profile
from winnow.xpath.display import branches, pattern_text
from winnow.xpath.limits import DEFAULT_LIMITS, Limits
from winnow.xpath.pattern import Axis, Kind, Node, Op, Pattern, Test
from winnow.xpath.reasons import Reason
from winnow.xpath.rejected import Rejected

__all__ = [
    "DEFAULT_LIMITS",
    "Axis",
    "Class",
    "Compiled",
    "Kind",
    "Limits",
    "Node",
    "Op",
    "Pattern",
    "Reason",
    "Rejected",
    "Test",
    "branches",
    "compile_profile",
    "pattern_text",
]
