"""Runs as data for other tools: tables for a spreadsheet or a data frame, and logs for Inspect."""
