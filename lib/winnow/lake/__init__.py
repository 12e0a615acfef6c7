"""The lake: table contracts, the Spark session, locks, and the only code that reads and writes Delta tables."""
