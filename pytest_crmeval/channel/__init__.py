"""Messages between the workers and the controller."""
