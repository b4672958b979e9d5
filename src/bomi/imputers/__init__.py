"""Ways of dealing with gaps: each turns a gappy table into completed worlds."""
