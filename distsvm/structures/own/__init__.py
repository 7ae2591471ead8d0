"""Tasks that users write in plain Python, and the defaults of all structures for every verb."""

from distsvm.oracles.structure import Structure

STRUCTURE = Structure(name="own", title="tasks of your own", labels=("classes", "labels"))
