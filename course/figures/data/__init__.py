"""Pictures of data: which rank draws which samples, and how they are batched."""
