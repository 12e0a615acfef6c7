"""The figures: what each shows, what its paper says about it, and what is measured for it.

To add one: name it here. A figure that is not about engines on workloads brings its own `measure`, which gets the
workload and the name of what is measured, and its own `names`. It returns at least `seconds`, which the budget limits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from winnow.engines import ENGINES, STRATEGIES
from winnow.engines.strategies import BOTTOM_UP, PRUNED, PRUNED_RANDOM, STEP_BY_STEP, TOP_DOWN
from winnow.reproduce import claims, sweeps
from winnow.reproduce.claims import Claim
from winnow.reproduce.measure import measure_engine
from winnow.reproduce.peers import measure_peers
from winnow.reproduce.stages import measure_stages
from winnow.reproduce.sweeps import Sweep
from winnow.reproduce.workload import Workload

_AUTOMATA, _TRIES = ("nfa", "buff"), ("xtrie", "xtrie-eager", "xfilter")
BOXFILTER = "Moro, Bakalov, Tsotras: Early Profile Pruning on XML-aware Publish-Subscribe Systems, VLDB 2007"
XTRIE = "Chan, Felber, Garofalakis, Rastogi: Efficient Filtering of XML Documents with XPath Expressions, ICDE 2002"
DISTRIBUTED = "Miliaraki, Koubarakis: Distributed Structural and Value XML Filtering, DEBS 2010"
WFILTER = "Martins, Pereira: WFilter"


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


_LINEAR = claims.in_proportion(
    "The automata's cost is proportional to the number of profiles.",
    _AUTOMATA,
    why="Profiles that begin or end alike share states, so more profiles bring few new comparisons.",
)
_EARLY = claims.flat(
    "BoXFilter's cost hardly changes while profiles are few.",
    ("boxfilter",),
    asked=slice(0, 2),
    why="Every further leaf is compared with the documents that reach it: there is no plateau.",
)

FIGURES = {
    figure.name: figure
    for figure in (
        Figure(
            "boxfilter-9",
            BOXFILTER,
            "Figure 9",
            "More and more documents against the same profiles; half of the documents match something.",
            "documents",
            sweeps.documents,
            (
                claims.in_proportion("The automata's cost is proportional to the number of documents.", _AUTOMATA),
                claims.fewer(
                    "BUFF is better than NFA by a fifth, since it enters fewer states.",
                    "buff",
                    "nfa",
                    1.25,
                    count="moves",
                    why="From below, states are also entered for lines whose upper steps never come.",
                ),
                claims.fewer(
                    "BoXFilter is better than BUFF by four fifths.",
                    "boxfilter",
                    "buff",
                    5.0,
                    why="Theirs are also of different weight: BoXFilter compares sequences, BUFF states.",
                ),
            ),
        ),
        *(
            Figure(
                f"boxfilter-10{part}",
                BOXFILTER,
                f"Figure 10 ({part})",
                f"More and more profiles, {full:,} documents at full scale; half of the documents match something.",
                "profiles",
                sweeps.queries(full, quick),
                (_LINEAR, _EARLY),
            )
            for part, full, quick in (("a", 1000, 100), ("b", 10_000, 300), ("c", 100_000, 1000))
        ),
        Figure(
            "boxfilter-11",
            BOXFILTER,
            "Figure 11",
            "A growing share of the documents matches some profile.",
            "documents that match something, %",
            sweeps.selectivity,
            (
                claims.rising("The automata enter more states, the more documents match.", _AUTOMATA, count="moves"),
                claims.flat("BoXFilter's cost does not depend on it.", ("boxfilter",)),
            ),
        ),
        *(
            Figure(
                f"boxfilter-{number}",
                BOXFILTER,
                f"Figure {number}",
                f"Stages of {engine}, as shares of its whole time.",
                "profiles",
                sweeps.stages,
                (
                    claims.largest_stage(
                        "Encoding documents prevails, with about 65 %; then comes verification.", engine, "documents"
                    ),
                ),
                names=(engine,),
                measure=measure_stages,
            )
            for number, engine in ((12, "boxfilter"), (13, "b-boxfilter"))
        ),
        Figure(
            "boxfilter-14",
            BOXFILTER,
            "Figure 14",
            "Documents one by one, and in a tree of their own; a batch of 1,000 documents at full scale.",
            "profiles",
            sweeps.queries(1000, 500),
            (
                claims.widening(
                    "The more profiles, the more the batch saves.",
                    "b-boxfilter",
                    "boxfilter",
                    "node_pairs",
                    why="Most comparisons are with leaves, which a tree of documents does not spare.",
                ),
            ),
            shown_count="node_pairs",
        ),
        Figure(
            "xtrie-7a",
            XTRIE,
            "Figure 7 (a)",
            "More and more profiles of up to 20 steps.",
            "profiles P",
            sweeps.profiles(sweeps.TRIE, (10_000, 50_000, 100_000, 500_000)),
            (
                claims.in_proportion("The cost is nearly proportional to the number of profiles.", _TRIES),
                claims.fewer("Lazy XTrie is 2 to 4 times faster than XFilter.", "xtrie", "xfilter", 2.0),
                claims.fewer("Eager XTrie is slightly better than XFilter.", "xtrie-eager", "xfilter", 1.0),
            ),
        ),
        Figure(
            "xtrie-7b",
            XTRIE,
            "Figure 7 (b)",
            "Longer and longer documents.",
            "elements of a document",
            sweeps.lengths,
            (claims.in_proportion("The cost is proportional to the length of documents.", _TRIES, to="nodes"),),
        ),
        Figure(
            "xtrie-7c",
            XTRIE,
            "Figure 7 (c)",
            "More and more of the steps are //.",
            "probability p_d of //",
            sweeps.descendants,
            (claims.rising("More // make every algorithm slower.", _TRIES),),
            is_logarithmic=False,
        ),
        Figure(
            "xtrie-7d",
            XTRIE,
            "Figure 7 (d)",
            "Longer and longer profiles.",
            "steps L at most",
            sweeps.depths,
            (claims.rising("Longer profiles are slightly cheaper, as they match less.", _TRIES, falling=True),),
            is_logarithmic=False,
        ),
        Figure(
            "wfilter-2",
            WFILTER,
            "Figure 2",
            "More and more profiles of / and // only.",
            "profiles",
            sweeps.profiles(sweeps.TRIE._replace(walk=sweeps.PLAIN), (10_000, 25_000, 50_000, 100_000)),
            (claims.fewer("WFilter is 1.6 to 2 times as fast as YFilter.", "wfilter", "nfa", 1.6),),
        ),
        Figure(
            "wfilter-3",
            WFILTER,
            "Figure 3",
            "The same with wildcards, and attributes in half of the profiles.",
            "profiles",
            sweeps.profiles(sweeps.TRIE._replace(walk=sweeps.ATTRIBUTES), (10_000, 25_000, 50_000, 100_000)),
            (claims.fewer("WFilter is over 10 times as fast as YFilter.", "wfilter", "nfa", 10.0),),
        ),
        *(
            Figure(
                f"distributed-7{part}",
                DISTRIBUTED,
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
            DISTRIBUTED,
            "Figure 8",
            "What value filters spare, the more predicates a profile has.",
            "predicates of a profile",
            sweeps.peers_by_predicates,
            (
                claims.fewer("With value filters fewer documents are sent.", PRUNED, TOP_DOWN, 1.1, count="sent"),
                claims.fewer("Statistics choose better than chance.", PRUNED, PRUNED_RANDOM, 1.0, count="sent"),
                claims.rising("The more predicates, the more is spared.", (PRUNED,), falling=True, count="sent"),
            ),
            is_logarithmic=False,
            names=(TOP_DOWN, PRUNED, PRUNED_RANDOM),
            measure=measure_peers,
            shown_count="sent",
        ),
        Figure(
            "distributed-9",
            DISTRIBUTED,
            "Figure 9",
            "Messages between peers, the more profiles they have.",
            "profiles",
            sweeps.peers_by_profiles,
            (
                claims.flat("Bottom-up sends the same whatever the profiles.", (BOTTOM_UP,), count="messages"),
                claims.rising("The automata send more, the more profiles.", (TOP_DOWN, STEP_BY_STEP), count="messages"),
                claims.fewer("Pruning spares messages.", PRUNED, TOP_DOWN, 1.0, count="messages"),
            ),
            names=STRATEGIES,
            measure=measure_peers,
            shown_count="messages",
        ),
    )
}
