"""How far predictions have come, as one line."""

from distsvm.cli.output import Output
from distsvm.cli.streaming import BAR, Done


def test_the_line_says_how_many_examples_are_done():
    done = Done(Output(), "predicting", 4)
    assert "0 of 4 pieces  0 examples" in done.line(0.0)
    for n in (1000, 500):
        done.add(n)
    line = done.line(12.0)
    assert line.startswith("predicting  ")
    assert "2 of 4 pieces  1,500 examples  12 s" in line
    assert sum(line.count(sign) for sign in "█#") == BAR // 2
