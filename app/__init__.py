"""Front ends: the `austerity` command and the dashboard. No arithmetic of their own."""
