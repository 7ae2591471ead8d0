"""Files in the svmlight format, and their rows as Python has them."""

from hypothesis import HealthCheck, settings

from distsvm.data.readers.svmlight import SvmlightData

# Without deadlines: the first call may compile.
no_function_check = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def load(path, n_shards=1, **options):
    return [spec.load() for spec in SvmlightData(path, **options).specs(n_shards)]


def read(path, text, **options):
    """The one shard of a file with this text."""
    path.write_bytes(text)
    (shard,) = load(path, **options)
    return shard


def rows_of(shards):
    """Every example as (label, columns, values), over all shards."""
    rows = []
    for shard in shards:
        values, columns, starts = shard.x.arrays()
        for i, label in enumerate(shard.y.tolist()):
            entries = slice(starts[i], starts[i + 1])
            rows.append((label, columns[entries].tolist(), values[entries].tolist()))
    return rows
