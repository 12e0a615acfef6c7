"""Syntax trees as text: XPath that parses to the same tree, and s-expressions for people and tests."""

from winnow.xpath.ast import Call, Expr, Filter, Literal, Number, Operation, Path, Step

# Looser binds lower; `neg` and primaries included so that parentheses appear exactly where they are needed.
_BINDS = {"or": 1, "and": 2, "=": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5}
_BINDS |= {"*": 6, "div": 6, "mod": 6, "neg": 7, "|": 8}
_PATH, _FILTER, _PRIMARY = 9, 10, 11


def to_xpath(expr: Expr) -> str:
    """Canonical XPath: abbreviated, single spaces. `parse(to_xpath(tree)).tree == tree`.

    >>> from winnow.xpath.parser import parse
    >>> to_xpath(parse("child::a [ @x='1'  or self::node()/b ]/descendant-or-self::node()/c").tree)
    "a[@x = '1' or ./b]//c"
    """
    match expr:
        case Path():
            return _path(expr)
        case Filter():
            return _wrapped(expr.base, _PRIMARY) + _predicates(expr.predicates)
        case Operation("neg"):
            return "-" + _wrapped(expr.operands[0], 7)
        case Operation():
            binds = _BINDS[expr.op]
            first, *rest = expr.operands
            # A left operand of the same strength needs no parentheses, except where chains are flattened.
            left = _wrapped(first, binds + (expr.op in {"or", "and", "|"}))
            return f" {expr.op} ".join([left, *(_wrapped(operand, binds + 1) for operand in rest)])
        case Call():
            return f"{expr.name}({', '.join(map(to_xpath, expr.args))})"
        case Literal():
            return quoted(expr.value)
        case Number():
            return expr.text


def quoted(value: str) -> str:
    """A literal holds no quote of its own kind, so one of the two always fits."""
    return f"'{value}'" if "'" not in value else f'"{value}"'


def _strength(expr: Expr) -> int:
    match expr:
        case Operation():
            return _BINDS[expr.op]
        case Path():
            return _PATH
        case Filter():
            return _FILTER
        case _:
            return _PRIMARY


def _wrapped(expr: Expr, least: int) -> str:
    text = to_xpath(expr)
    return text if _strength(expr) >= least else f"({text})"


def _predicates(predicates: tuple[Expr, ...]) -> str:
    return "".join(f"[{to_xpath(predicate)}]" for predicate in predicates)


def _path(path: Path) -> str:
    parts: list[str] = []
    if path.absolute and not path.steps:
        return "/"
    # `/` separates steps, and begins an absolute path; a base is a step of its own.
    if path.base is not None:
        parts.append(_wrapped(path.base, _FILTER))
    separator = "/" if path.absolute or path.base is not None else ""
    last = len(path.steps) - 1
    for i, step in enumerate(path.steps):
        between = step.axis == "descendant-or-self" and step.test == "node()" and not step.predicates and i < last
        if between and separator == "/":
            separator = "//"
            continue
        parts.append(separator + _step(step))
        separator = "/"
    return "".join(parts)


def _step(step: Step) -> str:
    if not step.predicates and step.test == "node()" and step.axis in {"self", "parent"}:
        return "." if step.axis == "self" else ".."
    prefix = {"child": "", "attribute": "@"}.get(step.axis, f"{step.axis}::")
    return f"{prefix}{step.test}{_predicates(step.predicates)}"


def to_sexpr(expr: Expr | Step) -> str:
    """The tree as an s-expression.

    >>> from winnow.xpath.parser import parse
    >>> to_sexpr(parse("//a[@x = 1]").tree)
    '(path / (descendant-or-self node()) (child a (= (path (attribute x)) 1)))'
    """
    match expr:
        case Step():
            return _list(expr.axis, expr.test, *map(to_sexpr, expr.predicates))
        case Path():
            head = ["/"] if expr.absolute else []
            base = [to_sexpr(expr.base)] if expr.base is not None else []
            return _list("path", *head, *base, *map(to_sexpr, expr.steps))
        case Filter():
            return _list("filter", to_sexpr(expr.base), *map(to_sexpr, expr.predicates))
        case Operation():
            return _list(expr.op, *map(to_sexpr, expr.operands))
        case Call():
            return _list(f"{expr.name}()", *map(to_sexpr, expr.args))
        case Literal():
            return quoted(expr.value)
        case Number():
            return expr.text


def _list(*items: str) -> str:
    return f"({' '.join(items)})"
