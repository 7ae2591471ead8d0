"""Examples from memory or from files, cut into shards that their workers load themselves."""

from distsvm.data.dataset import Dataset, PairData, TableData
from distsvm.data.opening import open_data, open_inputs

__all__ = ["Dataset", "PairData", "TableData", "open_data", "open_inputs"]
