"""The papers' figures, measured again with every engine: `winnow reproduce`."""
