"""Patterns as the core keeps them: twigs in flat arrays, their lines, and ids for distinct runs and twigs."""
