"""The front door: what is reported, what is raised, and the bulk way in."""

import subprocess
import sys

import numpy as np
import pytest

from winnow import Matcher
from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.engines import create
from winnow.errors import UsageError
from winnow.generate.synthetic import Schema
from winnow.xpath import compile_profile


def test_import_winnow_is_light() -> None:
    script = "import sys, winnow; sys.exit('numba' in sys.modules or 'lxml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_profiles_as_mappings_and_tuples() -> None:
    rows = [
        {"profile_id": "m", "xpath": "//x:b", "namespaces": {"x": "urn:x"}},
        ("t", "//b"),
        ("o", "//b[c][d]", {}, True),
    ]
    matcher = Matcher(rows)
    found = list(matcher.match([("d", b"<a xmlns:x='urn:x'><x:b/><b><d/><c/></b></a>")]))
    assert sorted(found) == [("d", "m", "/a/Q{urn:x}b[1]"), ("d", "t", "/a/b[1]")]


def test_what_cannot_be_taken_is_reported() -> None:
    matcher = Matcher([("p", "//a"), ("p", "//b"), ("q", "//a[")])
    assert [(row.profile_id, row.code) for row in matcher.rejected] == [("p", "duplicate_id"), ("q", "syntax_error")]
    assert [match.document for match in matcher.match([b"<a/>", b"<a", b"<a/>"])] == [0, 2]
    assert [(row.document, row.reason) for row in matcher.refused] == [(1, "malformed")]
    with pytest.raises(UsageError, match="unknown_profile"):
        matcher.retire(["p", "nobody"])
    assert len(matcher) == 1


def test_hybrid_witness_is_the_first_node() -> None:
    document = b"<r><a><b/></a><a>x<!--c--><c y='1'/>t</a></r>"
    cases = {
        "//a[not(b)]": "/r/a[2]",
        "//a[not(b)]/c/@y[string-length() = 1]": "/r/a[2]/c[1]",
        "//a/comment()": "/r/a[2]",
        "//c/following-sibling::text()": "/r/a[2]/c[1]",
        "count(//a) = 2": "/r",
    }
    matcher = Matcher([(xpath, xpath) for xpath in cases])
    assert {match.profile_id: match.witness for match in matcher.match([document])} == cases


def test_bulk_and_trusted_are_the_same() -> None:
    schema = Schema(3)
    documents = schema.documents(30)
    twigs = schema.twigs()
    matcher = Matcher((str(n), next(twigs)) for n in range(2000))
    matches = [(match.document, match.profile_id) for match in matcher.match(documents)]
    assert matches == [(match.document, match.profile_id) for match in matcher.match(documents, trusted=True)]
    offsets = np.cumsum([0, *map(len, documents)])
    found = matcher.match_batch(np.frombuffer(b"".join(documents), np.uint8), offsets)
    ids = [matcher.profile_ids[slot] for slot in found.profiles]
    assert list(zip(found.documents.tolist(), ids, strict=True)) == matches
    assert len(matches) > 30
    assert found.funnel.matches == len(matches)
    assert found.funnel.new_paths == 0


def test_structure_is_asked_once() -> None:
    words, paths = Vocabulary(), PathTable()
    engine = create("boxpath", words, paths)
    batch = Encoder(words, paths).encode([b"<a><b/></a>", b"<a><b/><b/></a>"], values=False)
    engine.add(compile_profile("//b").alternatives)
    first, second = engine.match(batch).funnel, engine.match(batch).funnel
    assert (first.new_paths, first.path_branches) == (2, 1)
    assert (second.new_paths, second.path_branches, second.matches) == (0, 0, 2)


def test_unknown_engine_and_missing_values() -> None:
    with pytest.raises(UsageError, match="unknown_engine"):
        Matcher([], engine="nobody")
    words, paths = Vocabulary(), PathTable()
    engine = create("boxpath", words, paths)
    engine.add(compile_profile("//a[. = 1]").alternatives)
    with pytest.raises(UsageError, match="batch_without_values"):
        engine.match(Encoder(words, paths).encode([b"<a/>"], values=False))


def test_hybrid_and_native_profiles_see_the_same_tree() -> None:
    """Such a document is refused; one that is given as trusted is read one way all the same."""
    document = b"<!DOCTYPE a [<!ENTITY e 'x<b/>y'>]><a>1&e;2</a>"
    matcher = Matcher([("native", "//b"), ("hybrid", "//b[not(c)]"), ("text", "/a[. = '1xy2']")])
    found = {match.profile_id: match.witness for match in matcher.match([document], trusted=True)}
    assert found == {"native": "/a/b[1]", "hybrid": "/a/b[1]", "text": "/a"}
