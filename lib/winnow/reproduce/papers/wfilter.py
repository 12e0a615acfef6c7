"""WFilter beside YFilter: Figures 2 and 3."""

from winnow.reproduce import claims, sweeps
from winnow.reproduce.figure import Figure

PAPER = "Martins, Pereira: WFilter"

FIGURES = (
    Figure(
        "wfilter-2",
        PAPER,
        "Figure 2",
        "More and more profiles of / and // only.",
        "profiles",
        sweeps.profiles(sweeps.TRIE._replace(walk=sweeps.PLAIN), (10_000, 25_000, 50_000, 100_000)),
        (claims.fewer("WFilter is 1.6 to 2 times as fast as YFilter.", "wfilter", "nfa", 1.6),),
    ),
    Figure(
        "wfilter-3",
        PAPER,
        "Figure 3",
        "The same with wildcards, and attributes in half of the profiles.",
        "profiles",
        sweeps.profiles(sweeps.TRIE._replace(walk=sweeps.ATTRIBUTES), (10_000, 25_000, 50_000, 100_000)),
        (claims.fewer("WFilter is over 10 times as fast as YFilter.", "wfilter", "nfa", 10.0),),
    ),
)
