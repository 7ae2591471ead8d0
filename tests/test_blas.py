"""BLAS has one thread while anybody needs that, and its own number again afterwards."""

from threadpoolctl import threadpool_info

from distsvm.blas import one_thread


def blas_threads():
    return {
        lib["filepath"]: lib["num_threads"]
        for lib in threadpool_info()
        if lib["user_api"] == "blas"
    }


def test_the_last_to_leave_lifts_the_limit():
    with one_thread():
        pass  # loads every BLAS that there is
    before = blas_threads()
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads().values()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before
