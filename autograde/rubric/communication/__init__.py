"""What ranks communicate: collectives, messages, and reductions in rings and trees."""
