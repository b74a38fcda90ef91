"""Models that we did not write, as their authors write them, on data simulated from them."""
