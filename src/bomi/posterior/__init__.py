"""Our own method: gaps drawn from their posterior under the Gaussian process itself."""
