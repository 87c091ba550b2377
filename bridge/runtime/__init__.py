"""Puts the rooms together: settings, the engine behind one command, and the sidecar."""
