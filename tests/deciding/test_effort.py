"""What the estimate calls quick is quick, also where document and profile were made to be slow."""

import time
from collections.abc import Callable

import pytest

from winnow.deciding.judge import Judge, rough_size, size_of
from winnow.deciding.limits import DEFAULT_EVALUATION
from winnow.deciding.profile import HybridProfile, hybrid_of
from winnow.deciding.question import Document
from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.xpath import compile_profile

LARGEST = 4_000_000  # bytes of a document; what is quick then is quick enough
MOST = 3.0  # seconds of CPU; the budget is for one, at worst two


def wide(n: int) -> str:
    return f"<r>{'<a>1</a>' * n}<b/></r>"


def mixed(n: int) -> str:
    return f"<r>{'<a>1</a><b/><c/>' * n}</r>"


def nested(n: int) -> str:
    return f"<r>{'<a><b>1</b></a>' * n}</r>"


def deep(n: int) -> str:
    chain = min(n, 250)
    return f"<r>{('<a>' * chain + 'x' + '</a>' * chain) * (n // 250 + 1)}</r>"


def long(n: int) -> str:
    return f"<r><a>{'a' * n}</a><b>{'a' * (n // 2)}b</b></r>"


def bound(n: int) -> str:
    names = " ".join(f"xmlns:n{k}='u{k}'" for k in range(n))
    return f"<r {names}>{'<a/>' * n}</r>"


def spoken(n: int) -> str:
    return f"<r xml:lang='{'e' * n}'>{'<a/>' * n}</r>"


def named(n: int) -> str:
    name = "n" * 2000
    return f"<r>{f'<{name}x/>' * n}</r>"


def identified(n: int) -> str:
    elements = "".join(f"<a xml:id='i{k}'>i{k}</a>" for k in range(n))
    return f"<r>{elements}</r>"


NASTY: list[tuple[str, Callable[[int], str]]] = [
    ("//a[count(preceding-sibling::*) = 77777777]", wide),
    ("count(//a[. = //b]) = 5", wide),
    ("//a[not(//z)][count(../a) = 3]", wide),
    ("count(//a[. != //a]) = 5", wide),
    ("//a > //a", wide),
    ("count(//a | //b) = 3", mixed),
    ("//c[not(preceding-sibling::c)]", mixed),
    ("//c[sum(preceding-sibling::c) > 5]", mixed),
    ("//c[string(following-sibling::z) = 'x']", mixed),
    ("//a[. = preceding::b]", mixed),
    ("count(//a//b) = 5", nested),
    ("count(//*//*) = 5", nested),
    ("count(//a[not(.//a[not(.//a[not(.//b)])])]) = 77", deep),
    ("count(//a[count(.//a//a//a) = 7]) = 77", deep),
    ("count(//a[contains(., 'y')]) = 77", deep),
    ("//a[not(ancestor::a/ancestor::b)]/c", deep),
    ("contains(//a, //b)", long),
    ("not(contains(//a, '" + "a" * 6000 + "b')) and //c", long),
    ("string-length(translate(//a, '" + "".join(chr(300 + k) for k in range(4000)) + "', '')) = 5", long),
    ("string-length(concat(" + ", ".join(["/"] * 1000) + ")) = 5", long),
    ("count(//a[namespace::n5]) = 3", bound),
    ("count(//namespace::*) = 3", bound),
    ("count(//a[lang('en')]) = 3", spoken),
    ("count(//" + "n" * 2000 + "y) = 3", named),
    ("//*[count(//" + "n" * 2000 + "y) = 3]", named),
    ("count(id(//a)) = 3", identified),
]


def hybrid(xpath: str) -> HybridProfile:
    found = hybrid_of(compile_profile(xpath))
    assert found is not None
    return found


@pytest.mark.parametrize(("xpath", "make"), NASTY, ids=lambda value: getattr(value, "__name__", str(value)[:40]))
def test_what_is_called_quick_is_quick(xpath: str, make: Callable[[int], str]) -> None:
    profile = hybrid(xpath)
    quick: bytes | None = None
    scale = 16
    with Judge(DEFAULT_EVALUATION) as judge:
        while True:
            content = make(scale).encode()
            judge.open(content, size_of(content))
            if len(content) > LARGEST or not judge.is_quick(profile):
                break
            quick, scale = content, scale * 2
    assert quick is not None, "not even a tiny document is quick"
    document = Document(quick)
    assert document.root is not None
    began = time.process_time()
    document.answer(profile.prepared())
    assert time.process_time() - began < MOST, len(quick)


def test_the_rough_size_is_an_upper_bound() -> None:
    contents = [make(40).encode() for _, make in NASTY] + [
        b"<a><!----><?b?>c<!-- -->d<![CDATA[]]>e<?f g?></a>",
        b"<a/>",
    ]
    encoder = Encoder(Vocabulary(), PathTable())
    for content in contents:
        batch = encoder.encode([content], values=True)
        depth = int(batch.level.max()) + 1
        rough = rough_size(content, nodes=batch.nodes + batch.text_parent.size, depth=depth, text=batch.values.size)
        exact = size_of(content)
        assert all(a >= b for a, b in zip(rough, exact, strict=True)), (content[:80], rough, exact)


def test_a_closer_look_counts_the_nodes_that_are_asked() -> None:
    """The square of the nodes would be too much; but there are few `b`."""
    content = f"<r>{'<a>1</a>' * 40_000}<b/><b/></r>".encode()
    with Judge(DEFAULT_EVALUATION) as judge:
        judge.open(content, size_of(content))
        assert judge.is_quick(hybrid("//b[count(preceding-sibling::a) = 5]"))
        assert not judge.is_quick(hybrid("//a[count(preceding-sibling::a) = 5]"))
        assert judge.ask(hybrid("//b[count(preceding-sibling::a) = 40000]")) == 40_001
