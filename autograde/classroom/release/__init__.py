"""A lab is released from its source, again when it was corrected, and who has the old text is said."""
