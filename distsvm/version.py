"""The version of the package, alone in a module so that building it imports nothing else."""

__version__ = "0.1.0"
