"""The subcommands of `austerity`: functions from parsed options to an `Answer`."""
