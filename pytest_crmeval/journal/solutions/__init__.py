"""Evaluations of solution files on disk."""
