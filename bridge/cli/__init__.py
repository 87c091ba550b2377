"""The command line: one file for each command or subject, and printers for the output.

A command imports expensive modules when it runs, so help and usage errors appear immediately, and a command without a
cluster never imports the Kubernetes library.
"""
