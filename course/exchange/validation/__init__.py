"""*Validate*: tries a lab as it will be graded, before it is handed in."""
