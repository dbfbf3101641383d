"""Conversation files, validated here, so that all other code can rely on the types."""
