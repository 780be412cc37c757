"""What of its surroundings a world takes, and what of them can keep its ranks from starting."""
