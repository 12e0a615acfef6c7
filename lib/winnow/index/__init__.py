"""The index as tables: what documents and profiles are made of, under names that depend on nothing but content."""
