"""Pages of people's own: a student's labs, with the next step of each; and what pages of servers have in common."""
