"""Errors and oddities in files of conversations."""
