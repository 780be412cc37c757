"""Checks of checkpoints: what is in a file, calls that write one into a watched folder, and calls that load one.

Calls are those of `autograde.probes.checkpoint_calls`; a file's content is plain data, as
`autograde.probes.checkpoint_files` gives it.
"""
