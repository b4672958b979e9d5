"""What the data say, for people: slices, importance, gaps, figures."""
