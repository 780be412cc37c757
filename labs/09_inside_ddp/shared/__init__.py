"""What the checks and the probes of lab 09 both make from a seed: modules, networks, batches."""
