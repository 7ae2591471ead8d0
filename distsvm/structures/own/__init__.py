"""Tasks that users write in plain Python: what every verb shows where no structure says it."""

from distsvm.oracles.structure import Structure

STRUCTURE = Structure(name="own", title="tasks of your own", labels=("classes", "labels"))
