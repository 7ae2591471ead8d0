"""Kernel functions K(x, x′) of rows of features, computed in blocks by BLAS.

"Kernel" alone means compiled code in this package; Gaussian and polynomial ones are kernel
functions.
"""

from distsvm.kernel_functions.cache import BlockCache
from distsvm.kernel_functions.checking import check_gram
from distsvm.kernel_functions.function import KernelFunction
from distsvm.kernel_functions.joint import Expansion, JointKernel
from distsvm.kernel_functions.making import kernel_function, read_function
from distsvm.kernel_functions.own import register_kernel

__all__ = [
    "BlockCache",
    "Expansion",
    "JointKernel",
    "KernelFunction",
    "check_gram",
    "kernel_function",
    "read_function",
    "register_kernel",
]
