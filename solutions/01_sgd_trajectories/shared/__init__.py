"""What checks and probes of lab 01 both compute."""
