"""The only room that talks to OPA: client, errors, bundles, configuration and the managed process."""
