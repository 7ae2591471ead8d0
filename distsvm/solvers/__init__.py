"""Solvers, one file each; distsvm.registry finds them by their names."""
