"""Placement: the annotations of the admins' decision on objects, updated when that changes."""
