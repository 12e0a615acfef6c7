"""What is asked next follows from the state of the tables alone."""

import pytest

from winnow.ledger import Change, Mode, Run, newest_published, plan_interval, unfinished

NOTHING = Change(0, 0)


def ledger(*batches: str, revision: int = 3, only: str | None = None) -> Run:
    return Run("last", "published", None, frozenset(batches), revision, only)


def test_an_interval_that_was_never_asked_is_asked_everything() -> None:
    plan = plan_interval(None, {"b": 2, "a": 1}, NOTHING, revision=7)
    assert (plan.mode, plan.new_batches, plan.asked_since) == (Mode.REPLACE, ("a", "b"), None)
    assert (plan.batches, plan.revision, plan.documents, plan.base_run) == (("a", "b"), 7, 3, None)


def test_an_interval_without_documents_is_published_as_empty_once() -> None:
    assert not plan_interval(None, {}, NOTHING, revision=7).is_done
    assert plan_interval(ledger(), {}, Change(5, 0), revision=7).is_done


def test_nothing_new_is_nothing_to_do() -> None:
    assert plan_interval(ledger("a"), {"a": 1}, NOTHING, revision=9).is_done


def test_late_documents_meet_all_profiles_and_the_others_none() -> None:
    plan = plan_interval(ledger("a"), {"a": 1, "late": 1}, NOTHING, revision=3)
    assert (plan.mode, plan.new_batches, plan.asked_since) == (Mode.APPEND, ("late",), None)


def test_new_profiles_meet_the_documents_that_were_asked_before() -> None:
    plan = plan_interval(ledger("a"), {"a": 1, "late": 1}, Change(added=4, withdrawn=0), revision=5)
    assert (plan.mode, plan.new_batches, plan.asked_since) == (Mode.APPEND, ("late",), 3)
    assert (plan.batches, plan.revision) == (("a", "late"), 5)


def test_withdrawn_profiles_are_taken_back_without_asking() -> None:
    plan = plan_interval(ledger("a"), {"a": 1}, Change(added=0, withdrawn=1), revision=5)
    assert (plan.mode, plan.new_batches, plan.asked_since) == (Mode.REWRITE, (), None)
    assert not plan.is_done


@pytest.mark.parametrize(("batches", "full"), [({"a": 1}, True), ({"b": 1}, False)])
def test_everything_is_asked_again_when_wanted_or_when_documents_are_gone(batches: dict[str, int], full: bool) -> None:
    plan = plan_interval(ledger("a"), batches, NOTHING, revision=3, full=full)
    assert (plan.mode, plan.new_batches, plan.base_run) == (Mode.REPLACE, tuple(batches), "last")


def test_a_run_of_some_profiles_leaves_the_ledger_where_it_was() -> None:
    plan = plan_interval(ledger("a"), {"a": 1, "late": 1}, Change(4, 0), revision=5, only=True)
    assert (plan.new_batches, plan.asked_since) == (("late",), 3)
    assert (plan.batches, plan.revision) == (("a",), 3)
    first = plan_interval(None, {"a": 1}, NOTHING, revision=5, only=True)
    assert (first.batches, first.revision) == ((), 0)


def test_after_a_run_of_some_profiles_its_answers_are_replaced() -> None:
    plan = plan_interval(ledger("a", only="x*"), {"a": 1}, Change(4, 0), revision=5)
    assert (plan.mode, plan.asked_since) == (Mode.REWRITE, 3)
    assert plan_interval(ledger("a", only="x*"), {"a": 1}, NOTHING, revision=5).is_done


def test_publications_are_a_chain_and_the_last_is_the_ledger() -> None:
    runs = [
        Run("third", "staged", "second", frozenset("ab"), 5),
        Run("second", "published", "first", frozenset("ab"), 4),
        Run("first", "published", None, frozenset("a"), 3),
        Run("lost", "staged", "first", frozenset("a"), 3),
    ]
    newest = newest_published(runs)
    assert newest is not None
    assert newest.run_id == "second"
    assert [run.run_id for run in unfinished(runs)] == ["third"]
    assert newest_published(runs[:1]) is None
