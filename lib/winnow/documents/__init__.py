"""Documents as bytes: what they are, before anything is encoded."""
