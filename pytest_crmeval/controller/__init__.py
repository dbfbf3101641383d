"""The process that owns a run: its queue, recorder, progress, gates and PostgreSQL."""
