"""The only package that sends requests to OPA: client, errors, bundles, configuration and the managed process."""
