"""Pictures of more and more ranks: where they are, what a step costs them, and what that predicts."""
