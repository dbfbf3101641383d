"""Who talks: the agents that are evaluated."""
