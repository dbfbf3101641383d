"""A student who acts, a teacher who looks first, and a playbook that both learn from."""
