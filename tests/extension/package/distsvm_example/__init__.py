"""A structure and a solver for distsvm, from another package."""
