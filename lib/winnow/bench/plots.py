"""Plots of a bench run, for people who look before they read."""

from pathlib import Path
from typing import Any

LXML, SCAN, MATCH = "#9aa5b1", "#7fb069", "#1f6f8b"


def draw(result: dict[str, Any], folder: Path) -> list[Path]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), constrained_layout=True)
    loads = [name for name in ("paths", "twigs", "invoices") if name in result]
    left.bar(loads, [result[name]["lxml_parse_us"] for name in loads], width=0.35, align="edge", color=LXML)
    scans = [result[name]["scan_us"] for name in loads]
    rests = [max(result[name]["scan_and_match_us"] - result[name]["scan_us"], 0) for name in loads]
    left.bar(loads, scans, width=-0.35, align="edge", color=SCAN)
    left.bar(loads, rests, width=-0.35, align="edge", bottom=scans, color=MATCH)
    left.legend(["lxml parsing alone", "scan", "match"])
    for place, name in enumerate(loads):
        left.annotate(f"{result[name]['ratio']:.2f} ×", (place - 0.3, scans[place] + rests[place]), fontsize=9)
    left.set_ylabel("µs a document, one thread")
    left.set_title("Scan and match beside lxml parsing of the same bytes")
    engines = result["engines"]
    right.barh(list(engines), [engine["ratio"] for engine in engines.values()], color=MATCH)
    right.axvline(1, color=LXML, linestyle="--")
    right.set_xscale("log")
    right.set_xlabel("scan and match ÷ lxml parsing (log)")
    some = next(iter(engines.values()))
    right.set_title(f"Engines side by side, {some['profiles']:,.0f} profiles")
    target = folder / "match.png"
    figure.savefig(target, dpi=110)
    plt.close(figure)
    return [target]
