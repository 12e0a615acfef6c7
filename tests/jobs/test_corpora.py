"""Real documents through the whole pipeline: every pair as lxml has it, whatever the engine."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lxml import etree
from pyspark.sql import SparkSession

from winnow.engines import ENGINES
from winnow.tables import Lake

from .lakes import FIRST, SECOND, declare, ingest, published, reference, rows, run
from .slow import nightly

pytestmark = [pytest.mark.spark, pytest.mark.corpora]


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


@nightly
def test_corpora_equal_lxml(spark: SparkSession, tmp_path: Path, corpora: Path) -> None:
    """Half of the profiles are a backfill, which knows documents by their encoding; then every engine asks all."""
    lake = Lake(str(tmp_path / "lake"))
    ingest(spark, lake, FIRST, corpora / "invoices-800.tar.gz")
    ingest(spark, lake, SECOND, corpora / "pubmed-5000.xml.gz", "PubmedArticle")
    with gzip.open(corpora / "invoice-profiles.jsonl.gz", "rt") as lines:
        profiles = [json.loads(line) for line in lines]
    profiles += article_profiles(corpora, 300)
    for declared in (profiles[::2], profiles):
        declare(spark, lake, tmp_path, declared)
        reports = run(spark, lake, FIRST, SECOND)
        assert reports["match_documents"].counts["undecided"] == 0
    assert len(rows(lake, "rejected_profiles")) < 300
    expected = reference(lake)
    assert len(expected) > 100_000
    assert published(lake) == expected
    for engine in sorted(ENGINES):
        run(spark, lake, FIRST, SECOND, engine=engine, full=True)
        assert published(lake) == expected, engine
