"""What a submission may use, what it uses, and what happens where memory ends."""
