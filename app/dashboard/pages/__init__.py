"""The pages, one file each: `show()` draws it."""
