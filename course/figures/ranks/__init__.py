"""Pictures of ranks: what they do, and how long it takes them."""
