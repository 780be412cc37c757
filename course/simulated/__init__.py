"""Networks and devices that are slower or stricter than this machine: they sleep, so they need no cores.

`gpu/` is the stricter one: tensors that are on a GPU, on a machine that has none.
"""
