"""What the probes and the checks of lab 03 both compute."""
