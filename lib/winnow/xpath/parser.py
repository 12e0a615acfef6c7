"""XPath 1.0 text to syntax tree: one pass over the tokens, operators by precedence.

Only what the recommendation's grammar allows is taken; libxml2 is more lenient in places (`///a`, `1e5`, `5mod2`).
Calls, unions and steps are checked for their types here, so that no accepted expression fails later in libxml2.
Recursion is bounded by `Limits.nesting`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from winnow.xpath.ast import Call, Expr, Filter, Literal, Number, Operation, Path, Step
from winnow.xpath.functions import FUNCTIONS, Type, type_of
from winnow.xpath.limits import DEFAULT_LIMITS, Limits
from winnow.xpath.rejected import Rejected
from winnow.xpath.tokens import NAME, NOT_XML, TOKEN, VALID, column

AXES: Final = frozenset({"self", "child", "parent", "attribute", "namespace", "descendant", "descendant-or-self"}) | {
    "ancestor",
    "ancestor-or-self",
    "following",
    "following-sibling",
    "preceding",
    "preceding-sibling",
}
NODE_TYPES: Final = frozenset({"comment", "text", "processing-instruction", "node"})

# Loosest first. The unary minus stands between `*` and `|` (§3.5), and is handled in `_operand`.
_PRECEDENCE: Final[Mapping[str, int]] = {
    "or": 1,
    "and": 2,
    "=": 3,
    "!=": 3,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "div": 6,
    "mod": 6,
    "|": 8,
}
_UNARY: Final = 7
_ASSOCIATIVE: Final = frozenset({"or", "and", "|"})
_END: Final = ""
_SEPARATORS: Final = frozenset({"/", "//", _END, "]", ")"})


class Parsed(NamedTuple):
    tree: Expr
    prefixes: Mapping[str, int]  # each prefix used, with the token that used it first


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Parsed:
    """Raises `Rejected` for anything that is not XPath 1.0 within the limits.

    >>> parse("a[@x]").tree.steps[0].test
    'a'
    """
    if len(text) > limits.length:
        raise Rejected(
            "length_limit",
            f"the expression has {len(text)} characters; at most {limits.length} are taken",
            column=limits.length + 1,
        )
    tokens = TOKEN.findall(text)
    if not (text.isascii() and text.isprintable()):
        _check_characters(text, tokens)
    parser = _Parser(text, tokens, limits)
    tree = parser.expression(1)
    if tokens[parser.i] is not _END:
        raise parser.unexpected("after a complete expression")
    return Parsed(tree, parser.prefixes)


def _check_characters(text: str, tokens: list[str]) -> None:
    if bad := NOT_XML.search(text):
        raise Rejected(
            "bad_character", f"U+{ord(bad.group()):04X} is not allowed in XML or XPath", column=bad.start() + 1
        )
    for i, token in enumerate(tokens):
        if not token.isascii() and not VALID.fullmatch(token):
            raise Rejected("bad_character", f"{token!r} cannot stand here", column=column(text, i))


class _Parser:
    __slots__ = ("chained", "depth", "i", "limits", "predicate_depth", "prefixes", "steps", "text", "tokens", "used")

    def __init__(self, text: str, tokens: list[str], limits: Limits) -> None:
        tokens += (_END, _END)  # two, so that looking one token ahead needs no check
        self.text = text
        self.tokens = tokens
        self.limits = limits
        self.i = 0
        self.depth = 0  # of nesting
        self.chained = 0  # operators that make the tree lean to the left, in the whole expression
        self.predicate_depth = 0
        self.steps = 0
        self.used = 0  # predicates
        self.prefixes: dict[str, int] = {}

    # -- refusals

    def rejected(self, code: str, message: str, at: int) -> Rejected:
        return Rejected(code, message, column=column(self.text, at))

    def unexpected(self, where: str) -> Rejected:
        token = self.tokens[self.i]
        if token is _END:
            return self.rejected("syntax_error", f"the expression ends {where}", self.i)
        if token in {"'", '"'}:
            return self.rejected("syntax_error", f"the string that starts with {token} never ends", self.i)
        if token == "$":
            name = self.tokens[self.i + 1]
            return self.rejected("unbound_variable", f"variable ${name}: a profile has no variables", self.i)
        return self.rejected("syntax_error", f"{token!r} cannot stand {where}", self.i)

    def expect(self, token: str, where: str) -> None:
        if self.tokens[self.i] != token:
            raise self.unexpected(f"{where}; {token!r} is missing")
        self.i += 1

    def enter(self) -> None:
        self.depth += 1
        if self.depth + self.chained > self.limits.nesting:
            raise self.rejected("nesting_limit", f"nested more than {self.limits.nesting} levels deep", self.i)

    # -- operators

    def expression(self, loosest: int) -> Expr:
        """An expression whose operators bind at least as tightly as `loosest`."""
        tokens = self.tokens
        left = self._operand()
        token = tokens[self.i]
        own = False  # `left` is a chain made here, not in parentheses
        while (binds := _PRECEDENCE.get(token, 0)) >= loosest:
            at = self.i
            self.i += 1
            right = self.expression(binds + 1)
            if token == "|":
                self.require_nodes(left, "|", at)
                self.require_nodes(right, "|", at)
            if own and token in _ASSOCIATIVE and type(left) is Operation and left.op == token:
                left = Operation(token, (*left.operands, right), left.at)
            else:
                if own:
                    self.chained += 1
                    self.enter()
                    self.depth -= 1
                left = Operation(token, (left, right), at)
                own = True
            token = tokens[self.i]
        return left

    def _operand(self) -> Expr:
        tokens, i = self.tokens, self.i
        token = tokens[i]
        first = token[:1]
        if first.isalpha() or first in {"/", "@", "*", "_"} or token in {".", ".."}:
            # A name before `(` calls a function, unless it is a node type; `p:a` cannot be one.
            if tokens[i + 1] != "(" or token in NODE_TYPES or first in {"/", "@", "*", "."}:
                return self._path(None)
            return self._filtered(self._call())
        if token == "-":
            self.i += 1
            self.enter()
            operand = self.expression(_UNARY)
            self.depth -= 1
            return Operation("neg", (operand,), i)
        if token == "(":
            self.i += 1
            self.enter()
            inner = self.expression(1)
            self.depth -= 1
            self.expect(")", "inside parentheses")
            return self._filtered(inner)
        if first in {"'", '"'} and len(token) > 1:
            self.i += 1
            return self._filtered(Literal(token[1:-1], i))
        if first.isdigit() or (first == "." and token != "."):
            self.i += 1
            return self._filtered(Number(token, i))
        if NAME.fullmatch(token):
            return self._path(None) if tokens[i + 1] != "(" else self._filtered(self._call())
        raise self.unexpected("where an expression is needed")

    def require_nodes(self, expr: Expr, what: str, at: int) -> None:
        if type_of(expr) is not Type.NODE_SET:
            raise self.rejected("type_error", f"{what!r} needs nodes, not a {type_of(expr).name.lower()}", at)

    # -- primaries

    def _call(self) -> Call:
        tokens, at = self.tokens, self.i
        name = tokens[at]
        function = FUNCTIONS.get(name)
        if function is None:
            raise self.rejected("unknown_function", f"{name}() is not a function of XPath 1.0", at)
        self.i += 2
        self.enter()
        args: list[Expr] = []
        if tokens[self.i] != ")":
            args.append(self.expression(1))
            while tokens[self.i] == ",":
                self.i += 1
                args.append(self.expression(1))
        self.depth -= 1
        self.expect(")", f"in the arguments of {name}()")
        if not function.least <= len(args) <= function.most:
            wanted = (
                f"{function.least}"
                if function.least == function.most
                else f"{function.least} or more"
                if function.most > 3
                else f"{function.least} to {function.most}"
            )
            raise self.rejected("wrong_arity", f"{name}() takes {wanted} arguments, not {len(args)}", at)
        if function.node_set and args:
            self.require_nodes(args[0], f"{name}()", at)
        if not self.predicate_depth and name in {"position", "last"}:
            raise self.rejected("type_error", f"{name}() has no meaning outside a predicate", at)
        return Call(name, tuple(args), at)

    def _filtered(self, primary: Expr) -> Expr:
        """What may follow a primary expression: predicates, then `/` or `//` and steps."""
        at = self.i
        token = self.tokens[at]
        if token == "[":
            self.require_nodes(primary, "[", at)
            primary = Filter(primary, self._predicates(), at)
            token = self.tokens[self.i]
        if token in {"/", "//"}:
            self.require_nodes(primary, token, self.i)
            return self._path(primary)
        return primary

    def _predicates(self) -> tuple[Expr, ...]:
        tokens = self.tokens
        found: list[Expr] = []
        self.predicate_depth += 1
        while tokens[self.i] == "[":
            self.used += 1
            if self.used > self.limits.predicates:
                raise self.rejected("predicates_limit", f"more than {self.limits.predicates} predicates", self.i)
            self.i += 1
            self.enter()
            found.append(self.expression(1))
            self.depth -= 1
            self.expect("]", "inside a predicate")
        self.predicate_depth -= 1
        return tuple(found)

    # -- location paths

    def _path(self, base: Expr | None) -> Path:
        tokens, start = self.tokens, self.i
        steps: list[Step] = []
        absolute = False
        token = tokens[start]
        if token in {"/", "//"}:
            absolute = base is None
            self.i += 1
            if token == "//":
                steps.append(Step("descendant-or-self", "node()", (), start))
            elif absolute and not _starts_step(tokens[self.i]):
                return Path(True, None, (), start)
        i = self.i
        while True:
            token, after = tokens[i], tokens[i + 1]
            # The common case, a name and the next separator, needs no call.
            if after in _SEPARATORS and token[:1].isalpha():
                if ":" in token:
                    self.prefixes.setdefault(token[: token.index(":")], i)
                steps.append(Step("child", token, (), i))
                i += 1
            else:
                self.i = i
                steps.append(self._step())
                i = self.i
                after = tokens[i]
            if after == "//":
                steps.append(Step("descendant-or-self", "node()", (), i))
            elif after != "/":
                break
            i += 1
        self.i = i
        self.steps += len(steps)
        if self.steps > self.limits.steps:
            raise self.rejected("steps_limit", f"more than {self.limits.steps} steps", start)
        return Path(absolute, base, tuple(steps), start)

    def _step(self) -> Step:
        tokens, at = self.tokens, self.i
        token = tokens[at]
        axis = "child"
        i = at
        if tokens[at + 1] == "::":
            if token not in AXES:
                raise self.rejected("syntax_error", f"{token!r} is not an axis", at)
            axis = token
            i = at + 2
        elif token == "@":
            axis = "attribute"
            i = at + 1
        elif token == ".":
            self.i = at + 1
            return Step("self", "node()", (), at)
        elif token == "..":
            self.i = at + 1
            return Step("parent", "node()", (), at)
        test = tokens[i]
        self.i = i + 1
        if not (test[:1].isalpha() or test == "*") and not NAME.fullmatch(test):
            self.i = i
            raise self.unexpected("where a step is needed")
        if tokens[i + 1] == "(":
            test = self._node_type(test, i)
        elif ":" in test:
            self.prefixes.setdefault(test[: test.index(":")], i)
        if tokens[self.i] == "[":
            return Step(axis, test, self._predicates(), at)
        return Step(axis, test, (), at)

    def _node_type(self, name: str, at: int) -> str:
        if name not in NODE_TYPES:
            raise self.rejected("syntax_error", f"{name}() cannot be a step: XPath 1.0 calls functions only first", at)
        self.i = at + 2
        target = self.tokens[self.i]
        if name == "processing-instruction" and target[:1] in {"'", '"'} and len(target) > 1:
            self.i += 1
        else:
            target = ""
        self.expect(")", f"in {name}()")
        return f"{name}({target})"


def _starts_step(token: str) -> bool:
    return token in {"*", "@", ".", ".."} or NAME.fullmatch(token) is not None
