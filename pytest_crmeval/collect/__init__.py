"""From markers to pytest items."""
