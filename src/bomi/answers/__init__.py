"""What an optimizer answers: each of its questions is a function of what is known."""
