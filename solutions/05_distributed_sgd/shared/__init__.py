"""What the probes and the checks of lab 05 both compute."""
