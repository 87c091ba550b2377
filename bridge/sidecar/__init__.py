"""The program beside OPA, made of all other packages."""
