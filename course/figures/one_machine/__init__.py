"""Why one machine is not enough, and what one step of training does."""
