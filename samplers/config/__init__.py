"""A run as a TOML file: its tables (`schema`), and the chain made from it (`assemble`)."""
