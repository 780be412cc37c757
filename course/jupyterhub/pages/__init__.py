"""Pages of people's own: a student's labs, with the next step of each; an instructor's reports, made when opened."""
