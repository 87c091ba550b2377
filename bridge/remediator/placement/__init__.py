"""Placement: the annotations that the admins' decision gives for objects, kept as it says when that changes."""
