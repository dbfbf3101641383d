"""The official SDKs, imported lazily: one attempt at one call, in the dialect of the server."""
