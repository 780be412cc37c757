"""Builds the labs from their solutions, and grades what students hand in. Knows no lab by name."""
