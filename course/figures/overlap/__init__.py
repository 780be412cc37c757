"""What a backward pass hides: gradients on their way while others are still being computed."""
