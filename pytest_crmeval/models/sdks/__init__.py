"""The official SDKs, imported lazily: one attempt at one call, in the format of the server's API."""
