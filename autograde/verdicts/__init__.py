"""What judges evidence: pure functions, trusted, never among the files that a sandbox shows."""
