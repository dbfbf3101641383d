"""Running the programs of a solution file on tests."""
