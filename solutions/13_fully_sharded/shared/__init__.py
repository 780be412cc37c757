"""What the checks and the probes of lab 13 both draw from a seed."""
