"""Pictures of sharded training: what a rank keeps, and when it has the whole of a layer."""
