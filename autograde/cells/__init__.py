"""What students write: cells of a notebook, as text and as what they define."""
