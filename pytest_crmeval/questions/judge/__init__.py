"""The judge of answers to questions."""
