"""A hub service that keeps users, groups and gradebooks as the courses file says, while the hub runs."""
