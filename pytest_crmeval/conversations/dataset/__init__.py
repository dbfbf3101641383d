"""Files -> cases: validated once, here; inside, the types are trusted."""
