"""The lectures: notebooks made from their texts, run on real ranks, and built into a site that needs no network."""
