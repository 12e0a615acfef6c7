"""The pictures of infra/docs/primer.md: what the tables hold, from a document to its matches, drawn from a run."""
