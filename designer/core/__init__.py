"""What every room needs: errors, array types, progress, files, compiled kernels."""
