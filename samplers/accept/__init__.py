"""Acceptance tests, one file each; all answer a `Comparison` with a `Decision`."""
