"""The crossings between NumPy and the rows' array library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepgp._array import like, namespace, to_numpy
from tests.links.helpers import TO_LIBRARY

EACH_LIBRARY = pytest.mark.parametrize("library", TO_LIBRARY)


@EACH_LIBRARY
def test_namespace_is_that_of_the_arrays(library: str) -> None:
    array = TO_LIBRARY[library](np.ones(3))
    xp = namespace(2.0, None, array)
    assert type(xp.ones(2)) is type(array)


def test_libraries_do_not_mix() -> None:
    with pytest.raises(TypeError, match="Multiple namespaces"):
        namespace(np.ones(2), TO_LIBRARY["array_api_strict"](np.ones(2)))


@EACH_LIBRARY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_like_takes_library_and_precision(library: str, dtype: type) -> None:
    reference = TO_LIBRARY[library](np.zeros(2, dtype=dtype))
    for given in ([1.5, 2.5], np.array([1.5, 2.5]), 1.5):
        got = like(given, reference)
        assert type(got) is type(reference)
        assert got.dtype == reference.dtype
        np.testing.assert_array_equal(to_numpy(got), given)


@EACH_LIBRARY
def test_to_numpy_is_double(library: str) -> None:
    got = to_numpy(TO_LIBRARY[library](np.array([1.0, 2.0], dtype=np.float32)))
    assert isinstance(got, np.ndarray)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, [1.0, 2.0])


def test_to_numpy_of_a_tensor_with_a_gradient() -> None:
    torch: Any = pytest.importorskip("torch")
    np.testing.assert_array_equal(to_numpy(torch.ones(2, requires_grad=True)), 1.0)
