"""The command line: one file a command, and printers for what they show."""
