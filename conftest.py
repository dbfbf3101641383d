"""Wiring of this repository only."""

pytest_plugins = ["pytester"]
