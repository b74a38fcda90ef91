"""What one test does: error and data use (`walk`), and its effect on one accept/reject step (`step_error`)."""
