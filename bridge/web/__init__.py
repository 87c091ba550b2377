"""What the bridge serves over HTTP."""
