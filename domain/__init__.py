"""The rules of mandates: frozen values and pure functions, standard library only."""
