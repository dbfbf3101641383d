"""Runs on disk: journal, transcripts, locks, index of runs, background runs."""
