"""Programs written by checkpoints: their problems, how they are run and judged."""
