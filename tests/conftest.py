"""What all tests share."""

pytest_plugins = ["tests.controlplane.fixtures"]
