"""BoXFilter and BUFF: Figures 9 to 14."""

from winnow.reproduce import claims, sweeps
from winnow.reproduce.figure import Figure
from winnow.reproduce.stages import measure_stages

PAPER = "Moro, Bakalov, Tsotras: Early Profile Pruning on XML-aware Publish-Subscribe Systems, VLDB 2007"
_AUTOMATA = ("nfa", "buff")
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

FIGURES = (
    Figure(
        "boxfilter-9",
        PAPER,
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
            PAPER,
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
        PAPER,
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
            PAPER,
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
        PAPER,
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
)
