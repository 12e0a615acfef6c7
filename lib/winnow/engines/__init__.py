"""Engines by name: which patterns does each encoded document satisfy? All give the same matches."""

from winnow.engines.registry import DEFAULT_ENGINE, ENGINES, create, engine_names, resolve

__all__ = ["DEFAULT_ENGINE", "ENGINES", "create", "engine_names", "resolve"]
