"""What the checks of lab 11 and its probes both compute."""
