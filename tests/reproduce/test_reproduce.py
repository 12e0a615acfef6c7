"""The figures at tiny sizes: resumable, complete, and the papers' trends where they hold, on counts."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from winnow.cli.main import main
from winnow.engines import ENGINES
from winnow.errors import DataError
from winnow.generate.profiles import ProfileOptions
from winnow.generate.selectivity import Targets
from winnow.reproduce import claims
from winnow.reproduce.figure import Figure
from winnow.reproduce.figures import FIGURES
from winnow.reproduce.measure import measure_engine
from winnow.reproduce.run import Task, measure, points, tasks
from winnow.reproduce.stages import STAGES
from winnow.reproduce.workload import Workload
from winnow.reproduce.write import write

BOX = Workload(60, 300, walk=ProfileOptions(steps=10, shortest=3), targets=Targets(0.5, 0.25))
TRIE = Workload(20, 1500, dtds=("news",), elements=100, depth=20, walk=ProfileOptions(steps=20))
TINY = {
    "boxfilter-9": {size: BOX._replace(documents=size) for size in (60, 240)},
    "boxfilter-11": {
        share: BOX._replace(documents=200, profiles=600, targets=Targets(share / 100, 0.25)) for share in (1, 60)
    },
    "boxfilter-12": {300: BOX},
    "boxfilter-13": {300: BOX},
    "xtrie-7a": {size: TRIE._replace(profiles=size) for size in (500, 1500)},
    "xtrie-7b": {elements: TRIE._replace(elements=elements) for elements in (30, 300)},
    "xtrie-7c": {p: TRIE._replace(walk=TRIE.walk._replace(descendant=p)) for p in (0.0, 0.5)},
    "wfilter-3": {1500: TRIE._replace(walk=ProfileOptions(steps=8, predicates=1, predicate_share=0.5))},
}


def tiny(name: str) -> Figure:
    return FIGURES[name]._replace(sweep=lambda scale: TINY[name])


def nothing(task: Task, name: str) -> None:
    pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tiny figures, measured and written."""
    folder = tmp_path_factory.mktemp("reproduce")
    todo = tasks([tiny(name) for name in TINY], "quick", folder)
    measure(todo, budget=100, begin=nothing)
    write(todo, folder, "tiny")
    return folder


def results(folder: Path) -> dict[str, dict[str, Any]]:
    return {name: json.loads((folder / f"{name}.json").read_text()) for name in TINY}


def test_every_point_has_every_engine_with_the_same_matches(folder: Path) -> None:
    for name, result in results(folder).items():
        assert [point["x"] for point in result["points"]] == list(TINY[name])
        for point in result["points"]:
            assert set(point["engines"]) == set(FIGURES[name].names)
            assert point["parameters"] == TINY[name][point["x"]].parameters()
            if FIGURES[name].measure is measure_engine:
                for engine in point["engines"].values():
                    assert engine["ratio"] > 0
                    assert engine["counts"]["comparisons"] > 0
                assert len({engine["counts"]["matches"] for engine in point["engines"].values()}) == 1


def test_targets_are_those_of_the_figure(folder: Path) -> None:
    for point in results(folder)["boxfilter-11"]["points"]:
        counts = point["engines"]["boxpath"]["counts"]
        assert counts["matched_documents"] == pytest.approx(point["x"] / 100 * 200, abs=4)
        assert 120 < counts["matched_patterns"] <= 150  # equal patterns of several profiles count once


def test_stages_make_the_whole(folder: Path) -> None:
    for name in ("boxfilter-12", "boxfilter-13"):
        (engine,) = results(folder)[name]["points"][0]["engines"].values()
        assert tuple(engine["stages"]) == STAGES
        assert sum(engine["stages"].values()) == pytest.approx(engine["seconds"])


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("boxfilter-9", "The automata's cost is proportional to the number of documents."),
        ("boxfilter-11", "The automata enter more states, the more documents match."),
        ("boxfilter-11", "BoXFilter's cost does not depend on it."),
        ("xtrie-7a", "Lazy XTrie is 2 to 4 times faster than XFilter."),
        ("xtrie-7c", "More // make every algorithm slower."),
    ],
)
def test_trends_that_hold(folder: Path, name: str, claim: str) -> None:
    findings = {finding["claim"]: finding for finding in results(folder)[name]["findings"]}
    assert findings[claim]["holds"], findings[claim]["sentence"]


def test_xfilter_costs_in_proportion_to_documents(folder: Path) -> None:
    """Tries do not: with longer documents the lazy one compares more for each node, the eager one less."""
    judge = claims.in_proportion("", ("xfilter",), to="nodes")
    assert judge(results(folder)["xtrie-7b"]["points"]).holds


def test_what_is_measured_is_not_measured_again(tmp_path: Path) -> None:
    asked: list[tuple[float, str]] = []

    def counted(workload: Workload, name: str) -> dict[str, Any]:
        asked.append((workload.documents, name))
        if stop and len(asked) == 3:
            raise KeyboardInterrupt
        return {"seconds": 1.0, "match_us": 1.0, "scan_us": 1.0, "lxml_parse_us": 1.0, "counts": {"matches": 1}}

    figure = tiny("boxfilter-9")._replace(measure=counted, names=("nfa", "buff"))
    todo = tasks([figure], "quick", tmp_path)
    stop = True
    with pytest.raises(KeyboardInterrupt):
        measure(todo, budget=100, begin=nothing)
    stop = False
    measure(todo, budget=100, begin=nothing)
    assert asked == [(60, "nfa"), (60, "buff"), (240, "nfa"), (240, "nfa"), (240, "buff")]
    measure(todo, budget=100, begin=nothing)
    assert len(asked) == 5
    todo[0].file.write_text(todo[0].file.read_text()[:50])  # cut off
    more = tasks([figure._replace(names=("nfa", "buff", "xfilter"))], "quick", tmp_path)
    measure(more, budget=100, begin=nothing)  # the broken point, and an engine that is new
    assert asked[5:] == [(60, "nfa"), (60, "buff"), (60, "xfilter"), (240, "xfilter")]
    other = figure._replace(sweep=lambda scale: {60: BOX._replace(elements=50)})
    measure(tasks([other], "quick", tmp_path), budget=100, begin=nothing)
    assert len(asked) == 11  # other parameters are another point


def test_slow_engines_are_left_out_and_it_is_said(tmp_path: Path) -> None:
    def slow(workload: Workload, name: str) -> dict[str, Any]:
        seconds = 20.0 if name == "xfilter" else 1.0
        common = {"match_us": 1.0, "scan_us": 1.0, "lxml_parse_us": 1.0, "counts": {"matches": 1, "comparisons": 5}}
        return common | {"seconds": seconds}

    figure = tiny("boxfilter-9")._replace(measure=slow)
    todo = tasks([figure], "quick", tmp_path)
    measure(todo, budget=10, begin=nothing)
    ((_, measured),) = points(todo)
    assert "counts" in measured[0]["engines"]["xfilter"]
    assert measured[1]["engines"]["xfilter"] == {"left_out": 10}
    write(todo, tmp_path, "tiny")
    assert "xfilter left out from x = 240: over 10 s before" in _words_of(tmp_path / "index.html")
    measure(todo, budget=30, begin=nothing)  # more time: now it is measured
    ((_, measured),) = points(todo)
    assert "counts" in measured[1]["engines"]["xfilter"]


def test_engines_that_disagree_are_an_error(tmp_path: Path) -> None:
    def wrong(workload: Workload, name: str) -> dict[str, Any]:
        return {"seconds": 1.0, "counts": {"matches": len(name)}}

    todo = tasks([tiny("boxfilter-9")._replace(measure=wrong)], "quick", tmp_path)
    with pytest.raises(DataError, match="disagree"):
        measure(todo, budget=10, begin=nothing)


def _words_of(page: Path) -> str:
    return " ".join(html.fromstring(page.read_text()).text_content().split())


def test_the_page_shows_all_and_needs_nothing_from_outside(folder: Path) -> None:
    page = (folder / "index.html").read_text()
    tree = html.fromstring(page)
    assert not tree.xpath("//script | //iframe | //object")
    images = tree.xpath("//img/@src")
    assert len(images) == len(TINY)
    assert all(image.startswith("data:image/svg+xml;base64,") for image in images)
    links = [link for link in tree.xpath("//a/@href") if not link.startswith("#")]
    assert len(links) == 3 * len(TINY)
    assert all((folder / link).is_file() for link in links)
    words = _words_of(folder / "index.html")
    for result in results(folder).values():
        assert result["caption"] in words
        for finding in result["findings"]:
            assert " ".join(finding["claim"].split()) in words
            assert " ".join(finding["sentence"].split()) in words


def test_the_page_in_a_browser(folder: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        pytest.skip("no browser")
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,2000"]
    picture = tmp_path / "page.png"
    subprocess.run(
        [*words, f"--screenshot={picture}", (folder / "index.html").as_uri()], check=True, capture_output=True
    )
    import matplotlib.image

    colours = matplotlib.image.imread(picture)[..., :3].reshape(-1, 3)
    assert ((abs(colours - [0.122, 0.435, 0.545]) < 0.02).all(axis=1)).sum() > 300  # the line of boxpath is drawn


def test_the_same_points_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "points", tmp_path / "points")
    todo = tasks([tiny(name) for name in TINY], "quick", tmp_path)
    write(todo, tmp_path, "tiny")
    for name in ("index.html", "boxfilter-9.svg", "boxfilter-9.png", "xtrie-7c.json"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_claims_are_judged_by_counts() -> None:
    def point(x: float, **comparisons: int) -> dict[str, Any]:
        return {"x": x, "engines": {name: {"counts": {"comparisons": c}} for name, c in comparisons.items()}}

    grows = [point(10, a=100, b=50), point(20, a=210, b=50)]
    assert claims.in_proportion("", ["a"])(grows).holds
    assert not claims.in_proportion("", ["a", "b"])(grows).holds
    assert claims.flat("", ["b"])(grows).holds
    assert not claims.flat("", ["a"], why="Because.")(grows).holds
    assert claims.flat("", ["a"], why="Because.")(grows).sentence.endswith("Because.")
    assert claims.rising("", ["a"])(grows).holds
    assert not claims.rising("", ["a"], falling=True)(grows).holds
    assert claims.fewer("", "b", "a", 4)(grows).holds
    assert not claims.fewer("", "b", "a", 5)(grows).holds
    assert claims.widening("", "b", "a", "comparisons")(grows).holds
    assert not claims.widening("", "a", "b", "comparisons")(grows).holds
    for engine, speed in (("a", 3.0), ("b", 5.0)):
        grows[-1]["engines"][engine]["match_us"] = speed
    assert claims.fewer("", "b", "a", 4)(grows).sentence.endswith("so in time it does not hold here.")
    absent = claims.fewer("", "absent", "a", 1)(grows)
    assert (absent.holds, absent.sentence) == (None, "Not measured: absent.")


def test_figures_of_both_scales() -> None:
    for figure in FIGURES.values():
        for scale in ("quick", "full"):
            sweep = figure.sweep(scale)  # type: ignore[arg-type]
            assert list(sweep) == sorted(sweep)
            assert len({workload.digest() for workload in sweep.values()}) == len(sweep)
    whole = [figure for figure in FIGURES.values() if figure.measure is measure_engine]
    assert all(figure.names == tuple(ENGINES) for figure in whole)


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in TINY:
        monkeypatch.setitem(FIGURES, name, tiny(name))
    assert main(["reproduce", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(FIGURES)
    assert main(["reproduce", "boxfilter-12", "--quick", "--folder", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"page: {tmp_path}/quick/index.html\n"
    assert main(["reproduce", "nope", "--quick"]) == 2
