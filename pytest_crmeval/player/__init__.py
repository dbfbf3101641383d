"""Plays jobs and returns their outcomes, ahead of their pytest items or for them. Never imports pytest."""
