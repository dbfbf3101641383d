"""The embedded PostgreSQL server and the databases of a run."""
