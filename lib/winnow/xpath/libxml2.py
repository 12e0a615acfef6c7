"""The safe way to ask libxml2 about a hybrid profile: no extension functions, no variables, only true or false."""

from collections.abc import Iterable, Mapping

from lxml import etree

from winnow.xpath.rejected import Rejected


class Evaluator:
    """`boolean(text)` with the root element as context node. Give it only text that `compile_profile` returned."""

    __slots__ = ("_xpath",)

    def __init__(self, text: str, namespaces: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> None:
        try:
            self._xpath = etree.XPath(
                f"boolean({text})", namespaces=dict(namespaces) or None, regexp=False, smart_strings=False
            )
        except (etree.XPathSyntaxError, ValueError) as error:
            # Its XPath knows the names of XML 1.0's fourth edition only, Winnow and its documents those of the fifth.
            words = f"libxml2 does not take this expression: {error}"
            raise Rejected("refused_by_libxml2", words, column=1) from error

    def __call__(self, tree: etree._Element | etree._ElementTree) -> bool:
        return bool(self._xpath(tree))
