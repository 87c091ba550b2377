"""The program of one command: an OPA with all objects and modules, started for the command."""
