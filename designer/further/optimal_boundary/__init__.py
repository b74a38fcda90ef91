"""The best of all stopping boundaries (`boundary`), by dynamic programming (`dynamic_program`)."""
