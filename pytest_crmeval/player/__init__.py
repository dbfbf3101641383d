"""Many conversations in flight: who plays which, and the threads of a worker that play them ahead of their items."""
