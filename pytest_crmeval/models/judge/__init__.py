"""What judges of all kinds of case have in common."""
