"""Cost of a run on a cluster: time, memory and network by a formula."""
