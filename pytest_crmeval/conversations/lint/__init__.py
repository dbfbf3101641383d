"""Checks of conversation files, for ``crmeval lint``."""
