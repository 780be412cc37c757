"""Courses on JupyterHub: the hub's configuration, its accounts, its courses."""
