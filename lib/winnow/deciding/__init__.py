"""Decide hybrid profiles with libxml2 in bounded time: what is surely quick at once, the rest where it can be ended."""
