"""Posteriors and measurements that several experiments share."""
