"""What all tests share."""

from hypothesis import settings

pytest_plugins = ["tests.controlplane.fixtures"]

# A deadline would measure how busy the machine is.
settings.register_profile("policy-bridge", deadline=None)
settings.load_profile("policy-bridge")
