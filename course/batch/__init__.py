"""Batch runs: `sbatch run.sh`, torchrun, and the record that they leave."""
