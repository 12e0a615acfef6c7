"""The figures by name.

To add one: name it in its paper's module. A figure that is not about engines on workloads brings its own `measure`,
which gets the workload and the name of what is measured, and its own `names`. It returns at least `seconds`, which the
budget limits.
"""

from winnow.reproduce.papers import boxfilter, distributed, wfilter, xtrie

FIGURES = {figure.name: figure for paper in (boxfilter, xtrie, wfilter, distributed) for figure in paper.FIGURES}
