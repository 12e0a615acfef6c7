"""Value filtering among peers: Figures 7 to 9."""

from winnow.engines.automata.strategies import BOTTOM_UP, PRUNED, PRUNED_RANDOM, STEP_BY_STEP, STRATEGIES, TOP_DOWN
from winnow.reproduce import claims, sweeps
from winnow.reproduce.figure import Figure
from winnow.reproduce.peers import measure_peers

PAPER = "Miliaraki, Koubarakis: Distributed Structural and Value XML Filtering, DEBS 2010"

_FULL = "Each of eight peers has the values of hundreds of profiles in its filter, and most documents have one of them."

FIGURES = (
    *(
        Figure(
            f"distributed-7{part}",
            PAPER,
            f"Figure 7 ({part})",
            f"When subscribers hear of it; {predicates} predicates a profile. Part (c) is about distances.",
            "profiles",
            sweeps.peers_once(predicates),
            (
                claims.fewer(
                    "Top-down strategies are ahead of step-by-step by a wide margin.",
                    TOP_DOWN,
                    STEP_BY_STEP,
                    2.0,
                    why="An index of values in each state makes a test there cheap, and a test that fails spares"
                    " the verification of the whole pattern.",
                ),
                claims.fewer(
                    "Top-down strategies are ahead of bottom-up.",
                    TOP_DOWN,
                    BOTTOM_UP,
                    1.0,
                    why="Values are rare here, so few patterns are left when they were asked first.",
                ),
            ),
            names=STRATEGIES,
            measure=measure_peers,
        )
        for part, predicates in (("a", 2), ("b", 4))
    ),
    Figure(
        "distributed-8",
        PAPER,
        "Figure 8",
        "What value filters spare, the more predicates a profile has.",
        "predicates of a profile",
        sweeps.peers_by_predicates,
        (
            claims.fewer(
                "With value filters fewer documents are sent.", PRUNED, TOP_DOWN, 1.1, count="sent", why=_FULL
            ),
            claims.fewer("Statistics choose better than chance.", PRUNED, PRUNED_RANDOM, 1.01, count="sent"),
            claims.rising("The more predicates, the more is spared.", (PRUNED,), falling=True, count="sent"),
        ),
        is_logarithmic=False,
        names=(TOP_DOWN, PRUNED, PRUNED_RANDOM),
        measure=measure_peers,
        shown_count="sent",
    ),
    Figure(
        "distributed-9",
        PAPER,
        "Figure 9",
        "Messages between peers, the more profiles they have.",
        "profiles",
        sweeps.peers_by_profiles,
        (
            claims.flat("Bottom-up sends the same whatever the profiles.", (BOTTOM_UP,), count="messages"),
            claims.rising("The automata send more, the more profiles.", (TOP_DOWN, STEP_BY_STEP), count="messages"),
            claims.fewer("Pruning spares messages.", PRUNED, TOP_DOWN, 1.01, count="messages", why=_FULL),
        ),
        names=STRATEGIES,
        measure=measure_peers,
        shown_count="messages",
    ),
)
