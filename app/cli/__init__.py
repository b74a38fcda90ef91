"""The `austerity` command: one module per command in `commands`, shared options, terminal output."""
