"""The Rego that OPA runs, as one bundle."""
