"""What each TODO of lab 11 must show: that nothing of a training is lost when a rank is."""
