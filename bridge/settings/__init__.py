"""Settings: their types, valid values, and the origin of each value."""
