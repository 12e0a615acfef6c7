"""What a figure is: what it shows, what its paper says about it, and what is measured for it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from winnow.engines import ENGINES
from winnow.reproduce.claims import Claim
from winnow.reproduce.measure import measure_engine
from winnow.reproduce.sweeps import Sweep
from winnow.reproduce.workload import Workload


class Figure(NamedTuple):
    name: str
    paper: str
    number: str  # in the paper
    caption: str
    axis: str
    sweep: Sweep
    claims: tuple[Claim, ...]
    is_logarithmic: bool = True  # the axis
    names: tuple[str, ...] = tuple(ENGINES)
    measure: Callable[[Workload, str], dict[str, Any]] = measure_engine
    shown_count: str = "comparisons"  # shown beside the times
