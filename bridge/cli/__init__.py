"""The command line: one file a command, and printers for what they show.

A command imports what is heavy when it runs, so that help and errors of usage come at once, and a command that needs no
cluster never imports the Kubernetes library.
"""
