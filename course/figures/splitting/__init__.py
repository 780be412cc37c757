"""Pictures of split models: matrices cut in parts, pipelines with their bubbles, and what each way keeps and sends."""
