"""What an agent that learns does, written down in a database of its own, as it happens."""
