"""Shared by all packages: errors, array types, progress, files, text tables, TOML, validation, compiled kernels."""
