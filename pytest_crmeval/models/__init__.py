"""Language models behind their SDKs. Each SDK is imported here only, and only when it is used."""
