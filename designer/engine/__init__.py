"""What one test does: its error and data use (`walk`), and its effect on accept/reject steps (`step_error`).

`bounds` says what that means for the posterior at worst; `skew` corrects for the skewness of the lᵢ. The others are the
numerics: `look_grid` and `quadrature` for the recursion, `curves` for the integrals over u, and the compiled kernels.
"""
