"""Pictures of collectives: cells before and after, plans of messages, bytes and seconds."""
