"""Grades a class as a job array; compares records of batch runs with Slurm's accounting."""
