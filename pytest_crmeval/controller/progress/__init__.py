"""How far a run is, shown while pytest runs it."""
