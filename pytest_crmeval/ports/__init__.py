"""The interfaces to the outside: one Protocol each."""
