"""Judges that several labs use: each says what is wrong with a call, or None."""
