"""Players on the nodes of a Ray cluster: each is one more worker of the controller."""
