"""Runs on disk: journals and reports."""
