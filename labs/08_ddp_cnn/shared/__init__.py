"""What probes and checks of lab 08 have in common."""
