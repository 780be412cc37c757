"""Pictures of training: losses, paths over them, and what a model has learnt."""
