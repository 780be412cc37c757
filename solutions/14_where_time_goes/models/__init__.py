"""What only this lab computes with."""
