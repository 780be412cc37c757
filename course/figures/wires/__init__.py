"""Who is connected to whom, and how fast."""
