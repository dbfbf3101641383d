"""What runs on the other side of the wall: started by path, with the standard library and nothing else."""
