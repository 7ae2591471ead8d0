"""Runs as jobs of a Ray cluster: what is sent there, and how it is watched and stopped."""
