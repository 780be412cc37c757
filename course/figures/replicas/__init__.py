"""Pictures of data parallelism: copies of one model that stay equal, or do not."""
