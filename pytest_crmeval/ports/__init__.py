"""What the engine asks of the world: one Protocol each."""
