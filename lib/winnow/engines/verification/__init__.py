"""The exact decision that all engines share: of candidates, those that hold, each with its witness."""
