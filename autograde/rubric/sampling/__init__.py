"""How samples are shared out among ranks, and in which order."""
