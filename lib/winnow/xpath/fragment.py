"""The supported fragment, as data: one row per construct, with an example that the tests compile.

`infra/docs/profile-language.md` shows this table; `python -m winnow.xpath.fragment` prints it.
"""

from typing import Final, NamedTuple


class Row(NamedTuple):
    construct: str
    example: str
    outcome: str  # native, hybrid, or the code of a rejection
    note: str


FRAGMENT: Final[tuple[Row, ...]] = (
    Row("child and descendant steps", "/a//b/*", "native", "relative paths start at the root element"),
    Row("attributes", "//a/@x", "native", "`@*` too"),
    Row("text nodes", "//a/text()", "native", ""),
    Row("namespaces", "//n:a", "native", "names are compared by namespace and local name"),
    Row("predicates, nested", "//a[b[c]/@x]", "native", "to the limit of nesting"),
    Row("`and`", "//a[b and c]", "native", ""),
    Row("`or`, `|`", "//a[b or c] | //d", "native", "alternatives; beyond the limit hybrid"),
    Row("comparison with a string", "//a[@x = 'v' or b != 'w']", "native", "any node of the set, both `=` and `!=`"),
    Row("comparison with a number", "//a[5 < @x]", "native", "NaN as in IEEE 754; both orders"),
    Row("comparison with `true()`, `false()`", "//a[b = true()]", "native", "existence; absence is hybrid"),
    Row("`contains()`, `starts-with()`", "//a[contains(b, 'x')]", "native", "of `.`, an attribute, or one step down"),
    Row("`string()`, `number()` compared", "//a[number(@x) > 5]", "native", "as above"),
    Row("`count()` as existence", "count(//a) > 0", "native", "other counts are hybrid"),
    Row("`self::`, `.`, `descendant::`", "//*[self::a or self::b]/.", "native", ""),
    Row("`parent::`, `..`, `ancestor::`", "//a[../b][ancestor::c]", "native", "turned into steps down"),
    Row("constants", "1 + 1 = 2", "native", "folded"),
    Row("`[1]` and `[last()]` at the end", "//a[b][1]", "native", "some node is first when there is any"),
    Row("`not()`", "//a[not(b)]", "hybrid", ""),
    Row("positions", "//a[2]/b", "hybrid", "`position()`, `last()`"),
    Row("sibling axes", "//a[following-sibling::b]", "hybrid", "certain: the parent has both"),
    Row("`following::`, `preceding::`", "//a[preceding::b]", "hybrid", "certain: both exist"),
    Row("two node sets compared", "//a[@x = ../b]", "hybrid", "certain: both exist"),
    Row("arithmetic", "//a[@x + 1 > @y]", "hybrid", "certain: operands exist"),
    Row("other functions", "//a[normalize-space(b) = 'x']", "hybrid", "certain: `b` exists and contains x"),
    Row("first node of a longer path", "//a[contains(b/c, 'x')]", "hybrid", "certain: some `b/c` contains x"),
    Row("any name of a namespace", "//n:*", "hybrid", "certain: an element"),
    Row("`node()`, `comment()`, `processing-instruction()`", "//a/comment()", "hybrid", ""),
    Row("`namespace::`", "//a[namespace::n]", "hybrid", ""),
    Row("functions of XPath 2, EXSLT, XSLT", "//a[ends-with(@x, 'v')]", "unknown_function", ""),
    Row("variables", "//a[@x = $v]", "unbound_variable", ""),
    Row("prefixes without a binding", "//q:a", "unbound_prefix", ""),
    Row("wrong number of arguments", "//a[not()]", "wrong_arity", ""),
    Row("wrong types", "count(1)", "type_error", "also `position()` outside a predicate"),
    Row("lenient libxml2 syntax", "///a", "syntax_error", "also `1e5`, `5mod2`"),
    Row("cubic and worse", "//a[../b[not(../c)]]", "cost_limit", "when libxml2 would have to evaluate it"),
)


def table() -> str:
    """The fragment in Markdown."""
    rows = [
        "| construct | example | outcome | note |",
        "|---|---|---|---|",
        *(f"| {row.construct} | {_code(row.example)} | {row.outcome} | {row.note} |" for row in FRAGMENT),
    ]
    return "\n".join(rows)


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


if __name__ == "__main__":
    print(table())
