"""Evidence from student code: bubblewrap, the fork server, limits, the prober."""
