"""What was told: objectives, rows, and how both are read."""
