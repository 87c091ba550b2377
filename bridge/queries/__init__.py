"""Queries for people and programs, with few requests: short names, batches, what-if."""
