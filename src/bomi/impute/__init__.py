"""Ways of dealing with gaps, each of which yields completed worlds."""
