"""How much slower is compiling a profile into patterns than lxml compiling the same XPath?"""

import gc
import time
from collections.abc import Iterator
from random import Random

from lxml import etree

from winnow.xpath import compile_profile

NAMESPACES = {"inv": "urn:example:names:schema:invoice-2", "agg": "urn:example:names:schema:aggregates-2"}
_WORDS = ("Invoice", "Line", "Party", "Tax", "Total", "Item", "Code", "Amount", "Address", "Period", "Order", "Terms")
_CHUNK = 1_000


def distinct_profiles(seed: int = 1) -> Iterator[str]:
    """Paths and twigs: `//` and `*` with probability 0.1, about half of them with predicates or value tests."""
    r = Random(seed)
    names = sorted({r.choice(("inv:", "agg:", "")) + r.choice(_WORDS) + r.choice(_WORDS) for _ in range(300)})
    seen: set[int] = set()
    while True:
        steps = [r.choice(("/", "/", "//"))]
        for i in range(r.randint(3, 8)):
            steps.append("" if not i else "//" if r.random() < 0.1 else "/")
            steps.append("*" if r.random() < 0.1 else r.choice(names))
            if r.random() < 0.07:
                steps.append(f"[{r.choice(names)}/{r.choice(names)}]")
        if r.random() < 0.2:
            steps.append(r.choice((f"[@id = '{r.randrange(1000)}']", f"[{r.choice(names)} > {r.randrange(1000)}]")))
        text = "".join(steps)
        if hash(text) not in seen:
            seen.add(hash(text))
            yield text


def run(profiles: int) -> dict[str, float]:
    """Both sides take turns, chunk by chunk, so that a busy machine slows both; CPU time of this thread."""
    source = distinct_profiles()
    ours = theirs = 0.0
    for _ in range(max(profiles // _CHUNK, 1)):
        chunk = [next(source) for _ in range(_CHUNK)]
        gc.collect(0)
        start = time.process_time()
        for text in chunk:
            compile_profile(text, NAMESPACES)
        middle = time.process_time()
        for text in chunk:
            etree.XPath(text, namespaces=NAMESPACES)
        end = time.process_time()
        ours, theirs = ours + middle - start, theirs + end - middle
    each = 1e6 / max(profiles // _CHUNK, 1) / _CHUNK
    return {
        "profiles": profiles,
        "compile_us": round(ours * each, 2),
        "lxml_compile_us": round(theirs * each, 2),
        "ratio": round(ours / theirs, 2),
    }
