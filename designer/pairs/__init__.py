"""Trial runs: the (μ, σ) pairs of a chain, their files, and checks that they suit the theory."""
