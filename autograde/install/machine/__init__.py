"""What a set-up depends on outside the clone: this system, its accounts, the environment."""
