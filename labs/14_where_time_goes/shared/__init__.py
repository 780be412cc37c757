"""What the checks and the probes of lab 14 both draw from a seed."""
