"""Generators: sample documents and profiles, the same bytes for the same seed. Pure."""
