"""Documents and XPaths from one small alphabet, so that they match often.

Every generator takes a `random.Random`: hypothesis drives one in the property tests (`st.randoms()`), a seeded one
makes bulk data. `document(r)` gives XML text, `profile(r)` any XPath 1.0 within the grammar, `native_profile(r)` only
what is native, `ordered_profile(r)` only what can be ordered. Prefix `n` is bound by `NAMESPACES`.
"""

from random import Random

NAMESPACES = {"n": "urn:n"}

_LABELS = ("a", "b", "c")
_VALUES = ("x", "y", "xy", "x y", "1", "2", "1.50", "-1", "1e1", "", "a & b")
_TEXTS = ("x", "y", "xy", "x y", " x ", "\n  ", "1", "2", "1.50", " 2 ", "-1", "1e1", "a &amp; b", "&#120;")
_LITERALS = ("'x'", '"y"', "'xy'", "'x y'", "'1'", "'2'", "'1.50'", "''", "'a & b'", "'1e1'")
_NUMBERS = ("1", "2", "1.5", "0", "-1", "10", ".5", "3.")
_NEEDLES = ("'x'", "'y'", "'1'", "' '", "''", "'xy'")


# -- documents


def document(r: Random, depth: int = 4) -> str:
    prolog = r.choice(("", "", "<!-- x -->", "<?x y?>"))
    return prolog + _element(r, depth, is_root=True) + r.choice(("", "", "<!-- y -->"))


def _element(r: Random, depth: int, is_root: bool = False) -> str:
    # Three ways into the same namespace: `n:`, another prefix, the default namespace; and back out of it.
    style = r.random()
    label = r.choice(_LABELS)
    declared = ' xmlns:n="urn:n" xmlns:m="urn:n"' if is_root else ""
    if style < 0.15:
        label = r.choice(("n:", "m:")) + label
    elif style < 0.2:
        declared += ' xmlns="urn:n"'
    elif style < 0.3:
        declared += ' xmlns=""'
    names = [name for name in ("x", "y", "n:x") if r.random() < 0.35]
    attributes = "".join(f' {name}="{r.choice(_VALUES).replace("&", "&amp;")}"' for name in names)
    content = "".join(_content(r, depth - 1) for _ in range(r.choice((0, 1, 2, 3, 4, 5)) + (2 if is_root else 0)))
    return f"<{label}{declared}{attributes}>{content}</{label}>" if content else f"<{label}{declared}{attributes}/>"


def _content(r: Random, depth: int) -> str:
    kind = r.random()
    if depth > 0 and kind < 0.55:
        return _element(r, depth)
    if kind < 0.85:
        return r.choice(_TEXTS)
    if kind < 0.91:
        return f"<![CDATA[{r.choice(('x', 'y', ' ', '1', 'a & b'))}]]>"
    return r.choice(("<!--x-->", "<!--1-->", "<?x y?>", "<?y 1?>"))


# -- native profiles


def native_profile(r: Random) -> str:
    style = r.random()
    if style < 0.7:
        return _path(r, 2)
    if style < 0.85:
        return _condition(r, 2)
    return f"{_path(r, 1)} | {_path(r, 1)}"


def _name(r: Random) -> str:
    name = r.random()
    if name < 0.2:
        return "*"
    return ("n:" if name < 0.32 else "") + r.choice(_LABELS)


def _path(r: Random, depth: int) -> str:
    start = r.choice(("/", "//", "//", "//", "//", "", ".//", "./", "/*/", "/*//"))
    return start + _steps(r, depth)


def _relative(r: Random, depth: int) -> str:
    start = r.choice(("", "", "", ".//", "./", "self::", "descendant::", "descendant-or-self::", "child::"))
    return start + _steps(r, depth) if start[-2:] != "::" else start + _name(r) + _predicates(r, depth)


def _steps(r: Random, depth: int) -> str:
    steps = [_name(r) + _predicates(r, depth)]
    while r.random() < 0.4 and len(steps) < 3:
        steps.append(r.choice(("/", "/", "//", "/./", "//./")) + _name(r) + _predicates(r, depth))
    ending = r.random()
    if ending < 0.1:
        steps.append(r.choice(("/", "//")) + _attribute(r))
    elif ending < 0.17:
        steps.append(r.choice(("/", "//")) + "text()")
    return "".join(steps)


def _attribute(r: Random) -> str:
    return r.choice(("@x", "@x", "@y", "@n:x", "@*", "attribute::x"))


def _predicates(r: Random, depth: int) -> str:
    if depth <= 0:
        return ""
    return "".join(f"[{_condition(r, depth - 1)}]" for _ in range(r.choice((0, 0, 0, 1, 1, 2))))


def _condition(r: Random, depth: int) -> str:
    style = r.random()
    if depth > 0 and style < 0.25:
        word = r.choice((" and ", " or "))
        return word.join(f"({_condition(r, depth - 1)})" for _ in range(2))
    if style < 0.45:
        return _relative(r, depth)
    if style < 0.55:
        return _attribute(r)
    if style < 0.6:
        return r.choice(("text()", ".", "true()", "false()", "/a", "//b", "1 = 1", "//@x", "//c/text()"))
    if style < 0.68:
        return f"{r.choice(('contains', 'starts-with'))}({_first(r, depth)}, {r.choice(_NEEDLES)})"
    if style < 0.72:
        return r.choice(("../", "../../", "ancestor::", "parent::", "ancestor-or-self::")) + _name(r)
    value, constant = _value(r, depth), r.choice((r.choice(_LITERALS), r.choice(_NUMBERS)))
    op = r.choice(("=", "=", "!=", "<", "<=", ">", ">="))
    return f"{value} {op} {constant}" if r.random() < 0.7 else f"{constant} {op} {value}"


def _first(r: Random, depth: int) -> str:
    return r.choice(
        (".", "@x", "text()", "a", "b", "*", ".//c", "//a", "/*/b", "a[@x]", "../@x", f"b{_predicates(r, 1)}")
    )


def _value(r: Random, depth: int) -> str:
    return r.choice((".", "@x", "@y", "@*", "text()", ".//text()", _relative(r, depth - 1)))


# -- anything


def profile(r: Random) -> str:
    style = r.random()
    if style < 0.3:
        return native_profile(r)
    if style < 0.75:
        return (
            r.choice(("/", "//", "//", "", ".//"))
            + _any_step(r, 2)
            + (f"/{_any_step(r, 1)}" if r.random() < 0.3 else "")
        )
    if style < 0.85:
        return f"({_path(r, 1)} | {_path(r, 1)})[{_any_condition(r, 1)}]" + r.choice(("", "/b", "//text()", "/.."))
    return _any_condition(r, 2)


def _any_step(r: Random, depth: int) -> str:
    style = r.random()
    if style < 0.15:
        step = r.choice(
            ("text()", "node()", "comment()", "processing-instruction()", "processing-instruction('x')", "n:*")
        )
    elif style < 0.25:
        return r.choice(("..", ".", _attribute(r), "namespace::*"))
    else:
        step = _name(r)
    if r.random() < 0.35:
        step = r.choice(_AXES) + step
    if depth > 0:
        step += "".join(f"[{_any_condition(r, depth - 1)}]" for _ in range(r.choice((0, 1, 1, 2))))
    return step


_AXES = (
    "self::",
    "parent::",
    "ancestor::",
    "ancestor-or-self::",
    "descendant::",
    "descendant-or-self::",
    "following::",
    "following-sibling::",
    "preceding::",
    "preceding-sibling::",
    "child::",
)


def _any_condition(r: Random, depth: int) -> str:
    style = r.random()
    if style < 0.2:
        return _condition(r, depth)
    if depth > 0 and style < 0.45:
        if style < 0.35:
            return f"not({_any_condition(r, depth - 1)})"
        return r.choice((" and ", " or ")).join(f"({_any_condition(r, depth - 1)})" for _ in range(2))
    if style < 0.55:
        return r.choice(("1", "2", "last()", "position() = 1", "position() < last()", "position() = 2", "0", "1.5"))
    if style < 0.65:
        return _any_step(r, depth - 1)
    if style < 0.8:
        left, right = (_any_number(r, depth) if r.random() < 0.6 else _any_string(r, depth) for _ in range(2))
        return f"{left} {r.choice(('=', '!=', '<', '<=', '>', '>='))} {right}"
    if style < 0.9:
        return f"{_any_string(r, depth)} {r.choice(('=', '=', '!=', '<'))} {r.choice(_LITERALS)}"
    if style < 0.95:
        return f"{r.choice(('contains', 'starts-with'))}({_any_string(r, depth)}, {_any_string(r, depth - 1)})"
    return r.choice(
        ("lang('en')", "boolean(a)", "a = true()", "b != false()", "a < true()", "(a = b) = true()", "id('x')")
    )


def _nodes(r: Random, depth: int) -> str:
    return r.choice((_value(r, depth), _any_step(r, depth - 1), _relative(r, depth - 1)))


def _any_number(r: Random, depth: int) -> str:
    style = r.random()
    if style < 0.25:
        return f"count({_nodes(r, depth)})"
    if style < 0.5:
        return r.choice(_NUMBERS)
    if style < 0.6:
        return f"number({_nodes(r, depth)})"
    if style < 0.7:
        return f"string-length({_nodes(r, depth)})"
    if style < 0.8:
        return f"{r.choice(('sum', 'floor', 'round', 'ceiling', '-', 'number'))}({_nodes(r, depth)})"
    if style < 0.9 and depth > 0:
        return f"({_any_number(r, depth - 1)} {r.choice(('+', '-', '*', 'div', 'mod'))} {_any_number(r, depth - 1)})"
    return r.choice(("1 div 0", "0 div 0", "number('q')", "-0", "2 - 1", "string-length()", "number()", "- 1"))


def _any_string(r: Random, depth: int) -> str:
    style = r.random()
    if style < 0.2:
        return f"normalize-space({_nodes(r, depth)})"
    if style < 0.35:
        return r.choice(_LITERALS)
    if style < 0.5:
        return f"string({_nodes(r, depth)})"
    if style < 0.6:
        return f"{r.choice(('name', 'local-name', 'namespace-uri'))}({r.choice(('', _nodes(r, depth)))})"
    if style < 0.7:
        return f"substring({_nodes(r, depth)}, {r.choice(('1', '2', '1, 1'))})"
    if style < 0.8:
        return f"{r.choice(('substring-before', 'substring-after'))}({_nodes(r, depth)}, {r.choice(_NEEDLES)})"
    if style < 0.9:
        return r.choice(
            (f"translate({_nodes(r, depth)}, 'x', 'y')", f"concat({_nodes(r, depth)}, 'x')", "concat('x', 'y')")
        )
    return _nodes(r, depth)


# -- ordered profiles


def ordered_profile(r: Random) -> str:
    return r.choice(("/", "//", "//")) + _ordered_step(r, 2)


def _ordered_step(r: Random, depth: int) -> str:
    step = r.choice(("*", "a", "b", "c"))
    if depth > 0:
        for _ in range(r.choice((0, 1, 1, 2))):
            condition = r.choice(("", "", ".//")) + _ordered_step(r, depth - 1)
            step += f"[{r.choice((condition, condition, condition, '@x', 'text()', f'{condition} and b'))}]"
        if r.random() < 0.5:
            step += r.choice(("/", "//")) + _ordered_step(r, depth - 1)
    elif r.random() < 0.15:
        step += r.choice(("[. = 'x']", "[@x = 1]", "/text()", "/@x"))
    return step
