"""What runs beside the student's code: simulated nodes and GPUs, spies, processes of their own."""
