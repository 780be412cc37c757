"""Figures of where the time of a training step goes: its trace, its waiting, and what the machine could do."""
