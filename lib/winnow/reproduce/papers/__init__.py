"""The figures of each paper."""
