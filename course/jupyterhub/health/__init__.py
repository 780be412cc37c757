"""`./lockstep doctor --class`: whether a hub's machine is fit for its class."""
