"""What training gives: means over all ranks, paths of weights, replays of it, and devices."""
