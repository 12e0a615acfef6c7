"""6,457 real rule contexts and 800 real invoices (`../shared/corpora`).

A quick run asks libxml2 about a sample of the invoices; `WINNOW_NIGHTLY=1` about all of them.
"""

import gzip
import json
import os
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from lxml import etree

from winnow.xpath import Class, Compiled, Node, Rejected, compile_profile
from winnow.xpath.libxml2 import Evaluator
from winnow.xpath.reference import Doc, pattern_holds, read

CORPORA = Path(__file__).parents[3] / "shared" / "corpora"
NIGHTLY = os.environ.get("WINNOW_NIGHTLY") == "1"

pytestmark = [
    pytest.mark.corpora,
    pytest.mark.skipif(not CORPORA.is_dir(), reason="needs ../shared/corpora beside the project"),
]

Outcome = Compiled | Rejected


def compiled_or_rejected(row: dict) -> Outcome:
    try:
        return compile_profile(row["xpath"], row["namespaces"])
    except Rejected as error:
        return error


@pytest.fixture(scope="module")
def profiles() -> list[tuple[dict, Outcome]]:
    with gzip.open(CORPORA / "invoice-profiles.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [(row, compiled_or_rejected(row)) for row in map(json.loads, lines)]


@pytest.fixture(scope="module")
def invoices() -> list[etree._Element]:
    with tarfile.open(CORPORA / "invoices-800.tar.gz") as archive:
        files = [archive.extractfile(member) for member in archive.getmembers() if member.isfile()]
        return [etree.fromstring(file.read()) for file in files if file is not None]


def test_outcomes(profiles: list[tuple[dict, Outcome]]) -> None:
    """The counts are in infra/docs/profile-language.md."""
    found = Counter(item.code if isinstance(item, Rejected) else item.klass.value for _, item in profiles)
    # 382 of them bind no namespaces at all; libxml2 refuses those, too (next test).
    assert found == {"native": 5904, "hybrid": 122, "unknown_function": 49, "unbound_prefix": 382}


def test_rejections_name_the_place(profiles: list[tuple[dict, Outcome]]) -> None:
    root = etree.fromstring("<r/>")
    for row, item in profiles:
        if isinstance(item, Rejected):
            place = row["xpath"][item.column - 1 :]
            assert item.message.startswith((place[: place.find("(")], "prefix")), row
            with pytest.raises(etree.XPathError):  # it is short-circuited only where no node is ever asked
                etree.XPath(forced(row["xpath"], place), namespaces=row["namespaces"] or None)(root)


def forced(xpath: str, place: str) -> str:
    """The refused call or step on its own: inside a predicate that no node reaches, libxml2 never looks at it."""
    name = place.split("(", maxsplit=1)[0].split("/", maxsplit=1)[0].split("[", maxsplit=1)[0].split(maxsplit=1)[0]
    return f"{name}('a', 'b')" if place[len(name) :].startswith("(") else f"//{name}"


def labels(nodes: tuple[Node, ...]) -> set[str]:
    return {name for node in nodes for name in ({node.label} if node.label else set()) | labels(node.children)}


def all_labels(doc: Doc) -> set[str | None]:
    return {doc.label}.union(*(all_labels(child) for child in doc.children))


def test_equals_libxml2(profiles: list[tuple[dict, Outcome]], invoices: list[etree._Element]) -> None:
    accepted = [(row, item) for row, item in profiles if isinstance(item, Compiled)]
    asked = [
        (
            etree.XPath(f"boolean({row['xpath']})", namespaces=row["namespaces"] or None),
            Evaluator(item.text, item.namespaces) if item.klass is Class.HYBRID else None,
            item,
            [(pattern, labels(pattern.children)) for pattern in item.alternatives],
        )
        for row, item in accepted
    ]
    seen: Counter[str] = Counter()
    for tree in invoices if NIGHTLY else invoices[::80]:
        doc = read(tree)
        present = all_labels(doc)
        for original, evaluator, item, patterns in asked:
            wanted = original(tree)
            # A label that the document lacks decides; the naive evaluator is slow.
            holds = any(needed <= present and pattern_holds(pattern, doc) for pattern, needed in patterns)
            if evaluator is None:
                assert holds == wanted, item
            else:
                assert evaluator(tree) == wanted, item
                assert holds or not wanted, item
            seen[f"{item.klass.value} {'match' if wanted else 'no match'}"] += 1
    assert seen["native match"] > 0.005 * seen.total()
    print(dict(seen))
