"""What checks and probes of lab 07 both compute."""
