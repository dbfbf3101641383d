"""Graders that need no judge: exact, numeric, choice."""
