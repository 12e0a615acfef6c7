"""What every kernel shares: how it is compiled, and the types of its arrays."""
