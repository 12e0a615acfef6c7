"""Workloads of the matching core, measured against lxml in the same run, on one thread.

Each function returns a flat dict of numbers, ready for a table or JSON. Times are CPU seconds of this process, the best
of several rounds: other programs on the machine then hardly count.
"""

import gc
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from itertools import islice

from lxml import etree

from winnow import Matcher
from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.engines import DEFAULT_ENGINE, create
from winnow.generate.synthetic import Schema, Shape, Step
from winnow.parsing import parse
from winnow.xpath import compile_profile

SEED = 7
_ROUNDS = 5
_BATCH = 500

Result = dict[str, float]


def best(action: Callable[[], object], rounds: int = _ROUNDS) -> float:
    """CPU seconds of the fastest round."""
    gc.collect()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def path_profiles(count: int) -> list[str]:
    """Distinct; `/` or `//`, label or `*`, the latter of each with probability 0.1."""
    return list(islice(Schema(SEED).paths(), count))


def twig_profiles(count: int) -> list[str]:
    """Distinct; half of them with a value test."""
    return list(islice(Schema(SEED).twigs(), count))


def build(xpaths: Iterable[str], engine: str = DEFAULT_ENGINE) -> Matcher:
    return Matcher(((str(number), xpath) for number, xpath in enumerate(xpaths)), engine=engine)


def match_against_parsing(matcher: Matcher, documents: list[bytes]) -> Result:
    """Scanning and matching, all paths being known, beside lxml parsing of the same bytes."""
    batches = [documents[k : k + _BATCH] for k in range(0, len(documents), _BATCH)]

    def match() -> list[int]:
        return [matcher.match_contents(batch).documents.size for batch in batches]

    start = time.process_time()
    matches = sum(match())
    first = time.process_time() - start
    seconds = best(match)
    parsing = best(lambda: [parse(content) for content in documents])
    encoder = Encoder(matcher.vocabulary, matcher.paths)
    values = matcher.engine.needs_values
    scanning = best(lambda: [encoder.encode(batch, values=values) for batch in batches])
    count = len(documents)
    return {
        "profiles": len(matcher),
        "documents": count,
        "paths": len(matcher.paths) - 1,
        "matches_per_document": matches / count,
        "lxml_parse_us": parsing / count * 1e6,
        "scan_us": scanning / count * 1e6,
        "scan_and_match_us": seconds / count * 1e6,
        "first_time_us": first / count * 1e6,
        "ratio": seconds / parsing,
    }


def paths_workload(profiles: int = 100_000, documents: int = 2000) -> Result:
    return match_against_parsing(build(path_profiles(profiles)), Schema(SEED).documents(documents))


def twigs_workload(profiles: int = 50_000, documents: int = 2000) -> Result:
    return match_against_parsing(build(twig_profiles(profiles)), Schema(SEED).documents(documents))


def long_paths_workload(engine: str, profiles: int = 100_000, documents: int = 250) -> Result:
    """XTrie's setting (ICDE 2002, §6): paths of up to 20 steps, p_w = p_d = 0.1, documents of 100 tags; any engine."""
    schema = Schema(SEED, Shape(depth=20))
    start = time.process_time()
    matcher = build(islice(schema.paths(shortest=2), profiles), engine)
    building = time.process_time() - start
    result = match_against_parsing(matcher, schema.documents(documents)) | {"build_seconds": building}
    stats: dict[str, int] = getattr(matcher.engine, "stats", {})
    return result | {f"index_{name}": count for name, count in stats.items()}


def growth_workload(small: int = 10_000, large: int = 1_000_000, documents: int = 2000) -> Result:
    """Cost of many profiles at equal output: some that match, filled up with such as match nothing."""
    contents = Schema(SEED).documents(documents)
    xpaths = path_profiles(large + large // 20)
    hit = set(build(xpaths).match_contents(contents).profiles.tolist())
    hits = [xpaths[slot] for slot in sorted(hit)][: small // 5]
    misses = [xpath for slot, xpath in enumerate(xpaths) if slot not in hit]
    few = match_against_parsing(build(hits + misses[: small - len(hits)]), contents)
    many = match_against_parsing(build(hits + misses[: large - len(hits)]), contents)
    result = {f"small_{key}": value for key, value in few.items()} | {f"large_{key}": v for key, v in many.items()}
    return result | {"growth": many["scan_and_match_us"] / few["scan_and_match_us"]}


def emission_workload(profiles: int = 20_000, documents: int = 1000) -> Result:
    """What one more match costs: profiles that hold often, full of wildcards, beside the same for another root."""
    schema = Schema(SEED)
    contents = schema.documents(documents)
    loud = list(islice(schema.paths(step=Step(wildcard=0.6, descendant=0.4)), profiles))
    silent = [xpath.replace(schema.names[0], "absent") for xpath in loud if schema.names[0] in xpath]
    heard, unheard = (match_against_parsing(build(xpaths), contents) for xpaths in (loud, silent))
    matches = heard["matches_per_document"] - unheard["matches_per_document"]
    cost = heard["scan_and_match_us"] - unheard["scan_and_match_us"]
    return {"matches_per_document": matches, "ns_per_match": 1000 * cost / matches}


def build_workload(profiles: int = 100_000, added: int = 1000) -> Result:
    """Index of parsed profiles, beside lxml compiling them; and adding some to what is there, paths being known."""
    xpaths = path_profiles(profiles + added)
    documents = Schema(SEED).documents(500)
    compiling = best(lambda: [etree.XPath(xpath) for xpath in xpaths[:10_000]], 3) * profiles / 10_000
    before = _peak_mb()
    spent = 0.0
    engine = create(DEFAULT_ENGINE, Vocabulary(), PathTable())
    encoder = Encoder(engine.store.vocabulary, engine.paths)
    batch = encoder.encode(documents, values=engine.needs_values)
    for start in range(0, profiles, 10_000):  # parsed in pieces, so that only the index stays in memory
        parsed = [compile_profile(xpath).alternatives[0] for xpath in xpaths[start : min(start + 10_000, profiles)]]
        began = time.process_time()
        engine.add(parsed)
        spent += time.process_time() - began
    began = time.process_time()
    engine.match(batch.slice(0, 0))  # joins the new lines with the paths that are known
    spent += time.process_time() - began
    more = [compile_profile(xpath).alternatives[0] for xpath in xpaths[profiles:]]
    began = time.process_time()
    engine.add(more)
    engine.match(batch.slice(0, 0))
    adding = time.process_time() - began
    return {
        "profiles": profiles,
        "build_seconds": spent,
        "lxml_compile_seconds": compiling,
        "ratio": spent / compiling,
        "adding_seconds": adding,
        "adding_share": adding / spent,
        "peak_mb": _peak_mb(),
        "grown_mb": _peak_mb() - before,
    }


def cold_start() -> Result:
    """A second process, from its start to its first matches; the CPU seconds say what an idle machine would need."""
    script = (
        "from winnow import Matcher\n"
        "m = Matcher([('a', '//b[c = 1]'), ('o', '//b[c][d]', {}, True), ('h', '//b[not(x)]')])\n"
        "assert len(list(m.match([b'<a><b><c>1</c><d/></b></a>']))) == 3\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", script], check=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall_seconds": wall, "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
