"""What workers do for the oracle: choose pairs of drawn documents and profiles, and hear what libxml2 says of them."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from lxml import etree

from winnow.quality.label_tasks import held, needed
from winnow.quality.libxml2_tasks import Job, Profile, evaluate

if TYPE_CHECKING:
    from winnow.quality.oracle import Probe

SECONDS = 60.0  # of the pairs of one batch


def answer(batch: pa.RecordBatch, probes: "Sequence[Probe]", limit: int | None, seed: str) -> pa.RecordBatch:
    """Evaluates pairs of these documents; one row says how many, and where libxml2 says otherwise."""
    rows = batch.to_pylist()
    names: list[str] = []
    kinds: list[str] = []
    profiles: list[Profile] = []
    places: dict[int, int] = {}

    def place(key: int, name: str, kind: str, profile: Profile) -> int:
        if key not in places:
            places[key] = len(profiles)
            names.append(name)
            kinds.append(kind)
            profiles.append(profile)
        return places[key]

    asked = [(probe, Profile(probe.xpath, dict(probe.namespaces), probe.ordered)) for probe in probes]
    labels = [needed(profile) for _, profile in asked] if limit else []
    pairs: list[tuple[int, int]] = []
    expected: list[bool] = []
    for document, row in enumerate(rows):
        satisfied = set(row["answers"] or ())
        for own in row["matched"] or ():
            text = Profile(own["xpath"], dict(own["namespaces"]), own["ordered"])
            pairs.append((document, place(own["profile_key"], own["profile_id"], own["class"], text)))
            expected.append(True)
        passed = {own["profile_key"] for own in row["matched"] or ()} | set(row["undecided"] or ())
        open_probes = [
            number
            for number, (probe, _) in enumerate(asked)
            if probe.profile_key not in passed and (row["is_new"] or probe.is_recent)
        ]
        if limit:
            open_probes = _likely(open_probes, labels, row["content"], random.Random(f"{seed}/{row['document_id']}"))
            open_probes = open_probes[: limit - len(row["matched"] or ())]
        for number in open_probes:
            probe, text = asked[number]
            pairs.append((document, place(probe.profile_key, probe.profile_id, probe.kind, text)))
            expected.append(probe.profile_key in satisfied)
    said = evaluate(Job([row["content"] for row in rows], profiles, pairs), seconds=SECONDS)
    wrong = [
        f"document {rows[document]['document_id']}, profile {names[profile]}: "
        + ("not staged, libxml2 says it matches" if holds else "staged as a match, libxml2 says it does not match")
        for (document, profile), holds, staged in zip(pairs, said, expected, strict=True)
        if holds is not None and holds != staged
    ]
    known = [k for k, holds in enumerate(said) if holds is not None]
    counts = {
        "pairs": len(pairs),
        "known": len(known),
        "matches": sum(expected[k] for k in known),
        "hybrid": sum(kinds[pairs[k][1]] == "hybrid" for k in known),
        "wrong": len(wrong),
    }
    columns = [pa.array([count], pa.int64()) for count in counts.values()]
    return pa.RecordBatch.from_arrays([*columns, pa.array([wrong[:5]], pa.list_(pa.string()))], [*counts, "examples"])


def _likely(
    probes: list[int], labels: Sequence[Sequence[frozenset[str]]], content: bytes, rng: random.Random
) -> list[int]:
    """Probes whose labels the document has come first, by chance otherwise."""
    try:
        own = held(content)
    except etree.LxmlError:
        own = frozenset()
    lots = {probe: (not any(wanted <= own for wanted in labels[probe]), rng.random()) for probe in probes}
    return sorted(probes, key=lots.__getitem__)
