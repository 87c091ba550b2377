"""Settings: their types, what is valid, and where each value comes from."""
