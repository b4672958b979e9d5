"""What the data says, for people: slices, importance, gaps, figures."""
