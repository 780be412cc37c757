"""A Transformer that translates, and what it is trained on."""
