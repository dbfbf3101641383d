"""The distribution of a set of conversations, for ``crmeval describe``."""
