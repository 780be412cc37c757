"""What the files in the ranks' folder tell of each rank's process."""
