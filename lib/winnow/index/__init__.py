"""The index as tables: what documents and profiles are made of, under names that depend on nothing but content."""

import winnow.engines  # noqa: F401  # engines and this package need each other: imported in this order, they can
