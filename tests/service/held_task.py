"""A task whose search waits as long as a file is there, so that tests know when a run runs."""

import os
import time
from dataclasses import dataclass

import numpy as np

import distsvm


@dataclass(frozen=True)
class Held(distsvm.Task):
    """The sign of a number; x is [number, path of the file to wait for]."""

    dim: int = 1
    zero_one_loss = True

    def joint_features(self, x, y):
        return np.array([x[0] * y])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def decode(self, w, x):
        return 1 if w[0] * x[0] >= 0 else -1

    def separate(self, w, x, y, rescaling):
        while os.path.exists(x[1]):
            time.sleep(0.01)
        return max((1, -1), key=lambda one: float(one != y) + w[0] * x[0] * one)
