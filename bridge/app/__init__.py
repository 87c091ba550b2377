"""Composition: the sidecar and the commands, made of all other packages."""
