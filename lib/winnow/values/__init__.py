"""What predicates and documents have in common: values. Their codes, filters of them, and how rare they are."""
