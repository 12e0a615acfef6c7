"""Substring and prefix tests by automaton: the same answers as trying each, and as libxml2, when there are many."""

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from winnow import Matcher
from winnow.engines.predicates.automaton import FEW, build_automata, find_tests, new_scratch
from winnow.patterns.twigs import Tests
from winnow.patterns.value_tests import CONTAINS, STARTS_WITH

TEXT = st.text("abé", min_size=1, max_size=5)


@given(
    st.sets(st.tuples(st.sampled_from([CONTAINS, STARTS_WITH]), TEXT), max_size=30),
    st.lists(st.text("abéx"), min_size=1),
)
def test_finds_what_python_finds(needles: set[tuple[int, str]], texts: list[str]) -> None:
    wanted = sorted(needles)
    encoded = [text.encode() for _, text in wanted]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    starts = ends - np.array([len(text) for text in encoded], dtype=np.int64)
    tests = Tests(
        np.array([op for op, _ in wanted], np.uint8),
        np.zeros(len(wanted)),
        starts,
        ends,
        np.frombuffer(b"".join(encoded), np.uint8),
    )
    automata = build_automata(tests, np.arange(len(wanted), dtype=np.int32))
    scratch = new_scratch(automata)
    for number, text in enumerate(texts, start=1):
        value = np.frombuffer(b"<" + text.encode() + b">", np.uint8)
        count = find_tests(automata, value, (1, value.size - 1), scratch, number)
        expected = [
            k
            for k, (op, needle) in enumerate(wanted)
            if (needle in text if op == CONTAINS else text.startswith(needle))
        ]
        assert sorted(scratch.hits[:count].tolist()) == expected


def test_many_needles_on_one_path_equal_libxml2() -> None:
    r = Random(5)

    def word(low: int, high: int) -> str:
        return "".join(r.choices("abcé ", k=r.randint(low, high)))

    profiles = []
    for n in range(40 * FEW):
        needle = word(1, 4)
        call = r.choice((f"contains(., '{needle}')", f"starts-with(@k, '{needle}')", f"contains(@k, '{needle}')"))
        profiles.append((str(n), r.choice((f"//p[{call}]", f"//p[{call}][q]"))))
    paragraphs = [f"<p k='{word(0, 9)}'>{word(0, 12)}<q/>{word(0, 5)}</p>" for _ in range(180)]
    documents = [f"<r>{''.join(paragraphs[k : k + 3])}</r>".encode() for k in range(0, 180, 3)]
    found = {(match.document, match.profile_id) for match in Matcher(profiles).match(documents)}
    trees = [etree.fromstring(document) for document in documents]
    expected = {
        (d, name) for name, xpath in profiles for d, tree in enumerate(trees) if tree.xpath(f"boolean({xpath})")
    }
    assert found == expected
    assert len(profiles) < len(found) < 0.9 * len(profiles) * len(documents)
