"""The gate between staged and published answers: what must hold is data (`schemas/<table>/suite.toml`)."""
