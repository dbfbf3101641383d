"""Single questions: their datasets and graders."""
