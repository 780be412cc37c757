"""What only this lab trains."""
