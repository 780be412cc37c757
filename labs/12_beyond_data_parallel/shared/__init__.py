"""What the checks and the probes of lab 12 both draw from a seed."""
