"""What predicates and documents have in common: values. Their codes, filters of them, and how rare they are."""

import winnow.engines  # noqa: F401  # engines and this package need each other: imported in this order, they can
