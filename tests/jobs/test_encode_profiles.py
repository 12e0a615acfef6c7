"""Patterns and branches: each once, only what is asked, only what is new."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.encoding import Vocabulary
from winnow.index.branch_rows import bind_branches, write_branches
from winnow.index.lines import branches_of
from winnow.index.patterns import to_rows
from winnow.jobs import encode_profiles, ingest_profiles
from winnow.tables import Tables
from winnow.tables.small import read_small
from winnow.xpath import compile_profile
from xpath_strategies import NAMESPACES, native_profile

from .slow import nightly

TABLES = ("patterns", "branches")
spark_test = pytest.mark.spark


def declare(tables: Tables, folder: Path, retire_missing: bool = False, **xpaths: str) -> None:
    file = folder / "p.jsonl"
    file.write_text("".join(json.dumps({"profile_id": k, "xpath": x}) + "\n" for k, x in xpaths.items()))
    config = ingest_profiles.Config(lake=tables.lake, file=str(file), retire_missing=retire_missing)
    ingest_profiles.run(tables.spark, config)


def encode(tables: Tables) -> tuple[int, ...]:
    return tuple(encode_profiles.run(tables.spark, encode_profiles.Config(lake=tables.lake)).counts.values())


@nightly
@spark_test
def test_patterns_and_branches_are_there_once(tables: Tables, tmp_path: Path) -> None:
    declare(tables, tmp_path, a="//a[b]/c", again="//a[c]/b", other="//a/c | //x[c]", never="false()", bad="[")
    assert encode(tables) == (3, 3, 3)  # the first two mean the same
    lines = {row.branch_id: row.line for row in read_small(tables.read("branches"))}
    assert sorted(lines.values()) == ["//a/b", "//a/c", "//x/c"]
    rows = read_small(tables.read("patterns"))
    assert {row.pattern: {lines[code] for code in row.branches} for row in rows}["//a/c"] == {"//a/c"}


@spark_test
def test_only_what_is_new_is_added(tables: Tables, tmp_path: Path) -> None:
    declare(tables, tmp_path, a="//a/b")
    assert encode(tables) == (1, 1, 1)
    versions = tables.versions(*TABLES)
    assert encode(tables) == (0, 0, 0)
    assert tables.versions(*TABLES) == versions  # not even an empty commit
    declare(tables, tmp_path, b="//a[b]/b[x]", c="//a/b")
    assert encode(tables) == (1, 1, 1)
    assert tables.read("branches").count() == 2


@nightly
@spark_test
def test_only_active_profiles_are_encoded(tables: Tables, tmp_path: Path) -> None:
    declare(tables, tmp_path, a="//a", b="//b")
    declare(tables, tmp_path, retire_missing=True, a="//aa")
    assert encode(tables) == (1, 1, 1)
    assert [row.line for row in read_small(tables.read("branches"))] == ["//aa"]
    declare(tables, tmp_path, b="//b")
    assert encode(tables) == (1, 1, 1)


@nightly
@spark_test
def test_stored_branches_are_those_of_the_stored_patterns(tables: Tables, tmp_path: Path) -> None:
    declare(tables, tmp_path, a="//a[@x = 1]//text()", b="/*/b[c/@*]", c="//a[.//d > 2][b = 'x']", d="/")
    encode(tables)
    vocabulary = Vocabulary([(1, "unlike"), (2, "@x")])
    bound = bind_branches(tables.read("branches").toArrow(), vocabulary)
    derived = branches_of(tables.read("patterns").toArrow(), vocabulary)
    assert dict(zip(bound.codes.tolist(), bound.texts(vocabulary), strict=True)) == dict(
        zip(derived.codes.tolist(), derived.texts(vocabulary), strict=True)
    )


@settings(max_examples=60)
@given(st.lists(st.randoms(use_true_random=False), max_size=8))
def test_branches_as_rows_are_the_same_in_any_vocabulary(randoms: list[Random]) -> None:
    compiled = [compile_profile(native_profile(random), NAMESPACES) for random in randoms]
    patterns = to_rows([pattern for one in compiled for pattern in one.alternatives])
    written = Vocabulary()
    rows = write_branches(branches_of(patterns, written), written)
    other = Vocabulary([(1, "unlike"), (2, "@x"), (3, "b")])
    bound, expected = bind_branches(rows, other), branches_of(patterns, other)
    for one, same in zip(bound, expected, strict=True):
        assert np.array_equal(one, same)
    assert write_branches(bound, other).equals(rows)
    half = rows.slice(rows.num_rows // 2)
    assert np.array_equal(bind_branches(half, other).codes, bound.codes[rows.num_rows // 2 :])
    assert bind_branches(half, other).texts(other) == bound.texts(other)[rows.num_rows // 2 :]
