"""Real documents through the whole pipeline: every pair as lxml has it."""

import datetime as dt
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lakes import FIRST, SECOND, declare, ingest, published, rows, run
from lxml import etree
from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.corpora]

NIGHTLY = bool(os.environ.get("WINNOW_NIGHTLY"))


def article_profiles(corpora: Path, count: int) -> Iterator[dict[str, Any]]:
    """Paths and values that occur, so that they match."""
    random = Random(7)
    articles = list(etree.fromstring(gzip.decompress((corpora / "pubmed-5000.xml.gz").read_bytes())))
    for number in range(count):
        node = random.choice(list(random.choice(articles).iter("*")))
        steps = [*(ancestor.tag for ancestor in list(node.iterancestors())[-2::-1]), node.tag]
        xpath = "/" + "/".join(steps) if random.random() < 0.5 else f"//{node.tag}"
        text = (node.text or "").strip()
        if text and "'" not in text and random.random() < 0.6:
            xpath += random.choice([f"[. = '{text}']", f"[contains(., '{text[:6]}')]", f"[not(. = '{text}')]"])
        yield {"profile_id": f"a{number}", "xpath": xpath}


def test_corpora_equal_lxml(spark: SparkSession, lake: str, tmp_path: Path, corpora: Path) -> None:
    """All documents and all profiles are run, half of these as a backfill, which knows documents by their encoding.

    Quickly, the reference looks at some documents, nightly at all.
    """
    ingest(spark, lake, FIRST, corpora / "invoices-800.tar.gz")
    ingest(spark, lake, SECOND, corpora / "pubmed-5000.xml.gz", "PubmedArticle")
    with gzip.open(corpora / "invoice-profiles.jsonl.gz", "rt") as lines:
        profiles = [json.loads(line) for line in lines]
    profiles += article_profiles(corpora, 300)
    for declared in (profiles[::2], profiles):
        declare(lake, tmp_path, declared)
        reports = run(spark, lake, FIRST, SECOND)
        assert reports["encode_profiles"].counts["rejected"] < 300
        assert reports["match_documents"].counts["undecided"] == 0

    classes = {(r["profile_id"], r["profile_version"]): r["class"] for r in rows(lake, "profile_patterns")}
    asked = [r for r in rows(lake, "profiles") if classes[r["profile_id"], r["profile_version"]] != "rejected"]
    found = published(lake)
    assert len(found) > 100_000
    documents = sorted(rows(lake, "documents"), key=lambda row: str(row["document_id"]))
    per_date = {FIRST: 6, SECOND: 60}
    chosen = documents if NIGHTLY else [row for date, n in per_date.items() for row in _some(documents, date, n)]
    names = {str(row["document_id"]) for row in chosen}
    trees = [(str(row["document_id"]), etree.fromstring(row["content"])) for row in chosen]
    expected = set()
    for profile in asked:
        xpath = etree.XPath(f"boolean({profile['xpath']})", namespaces=dict(profile["namespaces"]) or None)
        expected |= {(name, str(profile["profile_id"])) for name, tree in trees if xpath(tree)}
    assert {pair for pair in found if pair[0] in names} == expected


def _some(documents: list[dict[str, Any]], date: dt.date, count: int) -> list[dict[str, Any]]:
    return Random(1).sample([row for row in documents if row["ingest_date"] == date], count)
