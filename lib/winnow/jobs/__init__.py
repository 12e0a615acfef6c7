"""One module per job: read at named versions, transform, write."""
