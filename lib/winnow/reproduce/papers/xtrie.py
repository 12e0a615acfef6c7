"""XTrie: Figure 7, on a generated DTD of the size of NITF."""

from winnow.reproduce import claims, sweeps
from winnow.reproduce.figure import Figure

PAPER = "Chan, Felber, Garofalakis, Rastogi: Efficient Filtering of XML Documents with XPath Expressions, ICDE 2002"
_TRIES = ("xtrie", "xtrie-eager", "xfilter")

FIGURES = (
    Figure(
        "xtrie-7a",
        PAPER,
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
        PAPER,
        "Figure 7 (b)",
        "Longer and longer documents.",
        "elements of a document",
        sweeps.lengths,
        (claims.in_proportion("The cost is proportional to the length of documents.", _TRIES, to="nodes"),),
    ),
    Figure(
        "xtrie-7c",
        PAPER,
        "Figure 7 (c)",
        "More and more of the steps are //.",
        "probability p_d of //",
        sweeps.descendants,
        (claims.rising("More // make every algorithm slower.", _TRIES),),
        is_logarithmic=False,
    ),
    Figure(
        "xtrie-7d",
        PAPER,
        "Figure 7 (d)",
        "Longer and longer profiles.",
        "steps L at most",
        sweeps.depths,
        (claims.rising("Longer profiles are slightly cheaper, as they match less.", _TRIES, falling=True),),
        is_logarithmic=False,
    ),
)
