"""One module per command, named as the command is typed: `add` declares its options, `run` does the work."""
