"""The judge of conversations: a model that decides the statements which the rules of `reply` leave open."""
