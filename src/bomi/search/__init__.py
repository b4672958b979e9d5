"""Where to experiment next."""
