"""Ways to draw the missing cells of a table."""
