"""The matching core beside lxml: workloads of the default engine, all engines side by side, real documents."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lxml import etree
from tqdm import tqdm

from winnow.bench import plots, workloads
from winnow.bench.workloads import Result
from winnow.engines import ENGINES
from winnow.generate.synthetic import Schema
from winnow.ingest.profiles import read_profiles
from winnow.ingest.read import read_file
from winnow.ingest.sources import list_files
from winnow.matcher import Matcher
from winnow.parsing import parse

_SAMPLE = 200  # profiles and documents of the lxml loop


def run(folder: Path, *, corpora: Path, quick: bool) -> dict[str, Any]:
    """Everything in one run; plots and `match.json` go to `folder`."""
    scale = 10 if quick else 1
    steps: dict[str, Callable[[], Any]] = {
        "paths": lambda: workloads.paths_workload(100_000 // scale),
        "twigs": lambda: workloads.twigs_workload(50_000 // scale),
        "growth": lambda: workloads.growth_workload(large=1_000_000 // scale),
        "emission": workloads.emission_workload,
        "build": lambda: workloads.build_workload(100_000 // scale),
        "build_large": lambda: workloads.build_workload(1_000_000 // scale),
        "start": workloads.cold_start,
        "engines": lambda: engines_side_by_side(10_000 // scale),
        "long_paths": lambda: {name: workloads.long_paths_workload(name, 100_000 // scale) for name in ENGINES},
        "lxml_loop": lxml_loop,
    }
    if corpora.is_dir():
        steps["invoices"] = lambda: invoices(corpora)
    result: dict[str, Any] = {}
    for name in (bar := tqdm(steps, unit=" workload")):
        bar.set_description(name)
        result[name] = _rounded(steps[name]())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "match.json").write_text(json.dumps(result, indent=1) + "\n")
    result["plots"] = {path.stem: str(path) for path in plots.draw(result, folder)}
    return result


def engines_side_by_side(profiles: int, documents: int = 250) -> dict[str, Result]:
    contents = Schema(workloads.SEED).documents(documents)
    xpaths = workloads.path_profiles(profiles // 2) + workloads.twig_profiles(profiles // 2)
    found: dict[str, Result] = {}
    for name in ENGINES:
        start = time.process_time()
        matcher = workloads.build(xpaths, name)
        building = time.process_time() - start
        found[name] = workloads.match_against_parsing(matcher, contents) | {"build_seconds": building}
    matches = {name: result["matches_per_document"] for name, result in found.items()}
    if len(set(matches.values())) != 1:
        raise AssertionError(f"engines disagree on the number of matches: {matches}")
    return found


def lxml_loop(profiles: int = 100_000) -> Result:
    """One compiled XPath after the other on parsed documents: a sample, and what all profiles would cost a document."""
    trees = [parse(content) for content in Schema(workloads.SEED).documents(_SAMPLE)]
    compiled = [etree.XPath(xpath) for xpath in workloads.path_profiles(_SAMPLE)]
    seconds = workloads.best(lambda: [bool(xpath(tree)) for tree in trees for xpath in compiled], 2)
    each = seconds / _SAMPLE**2
    return {"us_per_pair": each * 1e6, f"seconds_per_document_with_{profiles}_profiles": each * profiles}


def invoices(corpora: Path) -> Result:
    """800 real invoices against their rule contexts."""
    profiles = read_profiles(str(corpora / "invoice-profiles.jsonl.gz")).profiles.to_pylist()
    matcher = Matcher((p["profile_id"], p["xpath"], dict(p["namespaces"]), p["ordered"]) for p in profiles)
    files = list_files([str(corpora / "invoices-800.tar.gz")])
    documents = [i.content for file in files for i in read_file(file, record_tag=None, max_bytes=1 << 24)]
    return workloads.match_against_parsing(matcher, documents)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return round(value, 4) if isinstance(value, float) else value
