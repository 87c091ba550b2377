"""Statuses of policies and `Affected` conditions of their targets."""
