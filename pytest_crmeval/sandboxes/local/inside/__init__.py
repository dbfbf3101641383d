"""What runs on the other side of the isolation: started by path, with the standard library and nothing else."""
