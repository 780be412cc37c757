"""What the probes and the checks of lab 02 both draw."""
