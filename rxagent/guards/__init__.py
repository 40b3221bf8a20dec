"""Guards: what happens to the text of an answer before it is delivered."""
