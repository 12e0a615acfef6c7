"""The rows of XTrie's substring table (Chan et al., ICDE 2002, §4.1), as records of integers.

The paper's row is (ParentRow, RelLevel, Rank, NumChild, Next). Next is not kept: the rows of a substring lie side by
side in one list. Rank and NumChild are bits, so that children may come in any order, in order, or some of each.
"""

# A row: that of its parent or -1, the levels between (negative: at least so many), the substring, the pattern, the test
# or LEAF, the tail, which child of its parent it is, and the bits below.
PARENT, LEAST, SUBSTRING, OWNER, TEST, TAIL, BIT, BITS, ROW = range(9)
INNER = 1  # it has children
FINAL = 2  # the first row from the top with several children or none: with it the pattern is complete
SPARE = 4  # above the final row, and anything below will do: only the highest match counts
TIMED = 8  # a child in order: it is complete when its element ends
# Two masks: the siblings that come before, and all children.
BEFORE, ALL, MASKS = range(3)
