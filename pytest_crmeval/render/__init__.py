"""Reports and progress for readers: terminal, Markdown, HTML."""
