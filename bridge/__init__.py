"""Policy Bridge: Open Policy Agent as the policy-attachment engine of Gateway API."""

__version__ = "0.1.0"
