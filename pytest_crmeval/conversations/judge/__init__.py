"""Scorers that ask a model."""
