"""A learning agent: a student that acts, a teacher that reviews changes first, and a playbook for both."""
