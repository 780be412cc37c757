"""What ranks are: memories of their own, work that waits for other work, and the libraries by which they talk."""
