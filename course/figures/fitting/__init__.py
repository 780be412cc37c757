"""Pictures of what fits where: what training keeps on each GPU, by the cuts that are chosen, and which to choose."""
