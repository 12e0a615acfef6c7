"""Parsing and normalising costs at most 15 times what lxml takes to compile the same profiles.

`WINNOW_NIGHTLY=1` measures a million distinct profiles, a quick run twenty thousand. Both sides take turns, chunk by
chunk, so that a busy machine slows both.
"""

import gc
import os
import time
from collections.abc import Iterator
from random import Random

from lxml import etree

from winnow.xpath import compile_profile

PROFILES = 1_000_000 if os.environ.get("WINNOW_NIGHTLY") == "1" else 20_000
CHUNK = 1_000
NAMESPACES = {"inv": "urn:example:names:schema:invoice-2", "agg": "urn:example:names:schema:aggregates-2"}


def names(r: Random) -> list[str]:
    words = (
        "Invoice",
        "Line",
        "Party",
        "Tax",
        "Total",
        "Item",
        "Code",
        "Amount",
        "Address",
        "Period",
        "Delivery",
        "Order",
    )
    made = {r.choice(("inv:", "agg:", "")) + r.choice(words) + r.choice(words) for _ in range(300)}
    return sorted(made)


def profiles(seed: int = 1) -> Iterator[str]:
    """Distinct paths and twigs: `//` and `*` with probability 0.1, a third of them with predicates or value tests."""
    r = Random(seed)
    vocabulary = names(r)
    seen: set[int] = set()
    while True:
        steps = [r.choice(("/", "/", "//"))]
        for i in range(r.randint(3, 8)):
            if i:
                steps.append("//" if r.random() < 0.1 else "/")
            steps.append("*" if r.random() < 0.1 else r.choice(vocabulary))
            if r.random() < 0.07:
                steps.append(f"[{r.choice(vocabulary)}/{r.choice(vocabulary)}]")
        if r.random() < 0.2:
            steps.append(
                r.choice((f"[@id = '{r.randrange(1000)}']", f"[{r.choice(vocabulary)} > {r.randrange(1000)}]"))
            )
        text = "".join(steps)
        if hash(text) not in seen:
            seen.add(hash(text))
            yield text


def test_at_most_fifteen_times_lxml() -> None:
    source = profiles()
    ours = theirs = 0.0
    for _ in range(PROFILES // CHUNK):
        chunk = [next(source) for _ in range(CHUNK)]
        gc.collect(0)
        start = time.process_time()
        for text in chunk:
            compile_profile(text, NAMESPACES)
        middle = time.process_time()
        for text in chunk:
            etree.XPath(text, namespaces=NAMESPACES)
        end = time.process_time()
        ours, theirs = ours + middle - start, theirs + end - middle
    each = 1e6 / PROFILES
    print(f"{PROFILES:,} profiles: {ours * each:.1f} µs, lxml {theirs * each:.1f} µs, ratio {ours / theirs:.1f}")
    assert ours < 15 * theirs
