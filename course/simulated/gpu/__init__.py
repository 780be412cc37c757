"""A simulated GPU: tensors whose numbers are in this machine's memory, and which are on `cuda` all the same.

Code that forgets to move a tensor runs on a machine without a GPU, and fails on one that has one. Here it fails as it
would there: see `simulated_gpu` in `block.py`.
"""
