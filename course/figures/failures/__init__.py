"""Pictures of runs in which ranks are killed: what a failure costs, and how often to save so that it costs least."""
