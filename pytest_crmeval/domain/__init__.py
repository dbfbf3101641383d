"""The words of the project: frozen values, standard library only."""
