"""What checks and probes of lab 10 both compute."""
