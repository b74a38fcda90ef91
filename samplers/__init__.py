"""The acceptance tests at work: chains whose accept/reject step reads as little data as the design allows."""
