"""What a run would cost on a cluster that is not there: time, memory and network by a formula."""
