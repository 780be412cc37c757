"""What the hub itself answers beside JupyterHub's own pages."""
