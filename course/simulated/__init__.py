"""Networks, and devices, that are slower or stricter than this machine: they sleep, so they need no cores."""
