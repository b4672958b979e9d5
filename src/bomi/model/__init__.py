"""What the worlds say of points not yet tried."""
