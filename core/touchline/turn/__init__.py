"""The turn protocol: what the model is taught and how its answer is read (spec page 1)."""
