"""What the labs train and compute."""
