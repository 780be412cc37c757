"""Where the time of a training step goes: what `torch.profiler` sees of each rank, as plain spans."""
