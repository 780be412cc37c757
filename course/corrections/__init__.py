"""A lab that is corrected after students have fetched it: which text one has, what changed, and how to get the new."""
