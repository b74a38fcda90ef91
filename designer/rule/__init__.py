"""The test itself: when it looks (`looks`), where it stops (`boundary`), both (`plan`), as a file (`design`)."""
