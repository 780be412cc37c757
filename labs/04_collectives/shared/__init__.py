"""What the probes and the grader draw alike, from a case's seeds."""
