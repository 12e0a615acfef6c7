"""The slow, obvious answer: lxml for XPath, the naive evaluator for ordered profiles."""

import os
from collections.abc import Iterable, Sequence

from lxml import etree

from winnow import Matcher
from winnow.xpath import compile_profile
from winnow.xpath.reference import pattern_holds, read

Profile = tuple[str, str, dict[str, str], bool]
Pairs = set[tuple[int, str]]

NIGHTLY = bool(os.environ.get("WINNOW_NIGHTLY"))


def truth(profiles: Iterable[Profile], documents: Sequence[bytes]) -> Pairs:
    """Pairs of document number and profile id."""
    roots = [etree.fromstring(content) for content in documents]
    docs = [read(root) for root in roots]
    pairs = set()
    for profile_id, xpath, namespaces, ordered in profiles:
        if ordered:
            alternatives = compile_profile(xpath, namespaces, ordered=True).alternatives
            holds = [any(pattern_holds(pattern, doc) for pattern in alternatives) for doc in docs]
        else:
            expression = etree.XPath(f"boolean({xpath})", namespaces=namespaces or None)
            holds = [bool(expression(root)) for root in roots]
        pairs |= {(number, profile_id) for number, held in enumerate(holds) if held}
    return pairs


def taken(matcher: Matcher, profiles: Iterable[Profile]) -> list[Profile]:
    """The profiles without those that were rejected."""
    rejected = {row.profile_id for row in matcher.rejected}
    return [profile for profile in profiles if profile[0] not in rejected]


def pairs_of(matcher: Matcher, documents: Iterable[bytes]) -> Pairs:
    """What the matcher says; no pair twice."""
    found = [(int(match.document), match.profile_id) for match in matcher.match(documents)]
    assert len(set(found)) == len(found)
    return set(found)


def assert_same(got: Pairs, wanted: Pairs, profiles: Iterable[Profile], documents: Sequence[bytes]) -> None:
    """Equal, or the first few differences with all that is needed to see them."""
    xpaths = {profile[0]: profile[1:] for profile in profiles}
    wrong = sorted(got ^ wanted)[:3]
    assert not wrong, [("lost" if pair in wanted else "false", documents[pair[0]], xpaths[pair[1]]) for pair in wrong]
