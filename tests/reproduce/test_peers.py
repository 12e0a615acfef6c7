"""Value filtering on Spark: the same matches whatever the strategy, and the paper's trends in counts."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from winnow.engines.automata.strategies import BOTTOM_UP, PRUNED, PRUNED_RANDOM, STEP_BY_STEP, STRATEGIES, TOP_DOWN
from winnow.reproduce import peers
from winnow.reproduce.figures import FIGURES
from winnow.reproduce.sweeps import peers_by_profiles

pytestmark = pytest.mark.spark


def counts(workload: Any) -> dict[str, dict[str, int]]:
    return {name: peers.measure_peers(workload, name)["counts"] for name in STRATEGIES}


def test_messages_and_documents(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_context", lambda: spark.sparkContext)
    few, many = (
        workload._replace(documents=30, profiles=profiles)
        for workload, profiles in zip(list(peers_by_profiles("quick").values())[:2], (40, 400), strict=True)
    )
    small, large = counts(few), counts(many)
    for measured in (small, large):
        assert len({each["matches"] for each in measured.values()}) == 1
        assert measured[PRUNED]["sent"] <= measured[TOP_DOWN]["sent"]
        assert measured[PRUNED]["messages"] <= measured[TOP_DOWN]["messages"]
        assert measured[STEP_BY_STEP]["candidates"] <= measured[TOP_DOWN]["candidates"]
    assert large[BOTTOM_UP]["matches"] > 0
    assert small[PRUNED]["sent"] < small[TOP_DOWN]["sent"]
    assert small[PRUNED]["sent"] <= small[PRUNED_RANDOM]["sent"]
    assert small[BOTTOM_UP]["messages"] == large[BOTTOM_UP]["messages"]  # values of documents, whatever is asked
    assert small[TOP_DOWN]["messages"] < large[TOP_DOWN]["messages"]


def test_arrivals_end_with_all_notifications(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_context", lambda: spark.sparkContext)
    (workload,) = FIGURES["distributed-7a"].sweep("quick").values()
    measured = peers.measure_peers(workload._replace(documents=30, profiles=300), TOP_DOWN)
    times, totals = zip(*measured["arrivals"], strict=True)
    assert list(times) == sorted(times)
    assert totals[-1] == measured["counts"]["matches"] > 0
