"""Figures of runs: statistics, comparison, gates, merging, estimates."""
