"""CRM dialogues: their dataset, the CRM, how they are played and scored."""
