"""Counter-based random numbers: published known answers and distributions."""

import numpy as np
import pytest
from scipy import stats

from matchenv.runtime.random import exponential, normal, normals, philox, two_uniforms, uniforms

U = np.uint64
ALL = 0xFFFFFFFF

# Random123's published known answers of philox4x32 with 10 rounds: counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ALL, ALL, ALL, ALL), (ALL, ALL), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_matches_the_published_answers(
    counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    found = philox(tuple(map(U, counter)), tuple(map(U, key)))
    assert tuple(map(int, found)) == expected


def test_uniforms_use_all_words_of_the_counter() -> None:
    """Including keys and indices beyond 32 bits."""
    key, stream, index = U(0x299F31D0A4093822), 0x0370734413198A2E, 0x85A308D3243F6A88
    words = KNOWN[2][2]
    expected = [((words[i] << 32 | words[i + 1]) >> 12) + 0.5 for i in (0, 2)]
    found = two_uniforms(key, U(stream), U(index))
    np.testing.assert_array_equal(found, np.array(expected) * 2.0**-52)


KEYS = np.random.default_rng(11).integers(0, 2**64, 400, dtype=np.uint64)


def test_distributions() -> None:
    """Kolmogorov-Smirnov tests: a wrong distribution has p far below 1e-4."""
    assert stats.kstest(uniforms(KEYS, 3, 0, 1000).ravel(), "uniform").pvalue > 1e-4
    assert stats.kstest(normals(KEYS, 3, 0, 1000).ravel(), "norm").pvalue > 1e-4
    drawn = [exponential(key, 7, i) for key in KEYS[:100] for i in range(100)]
    assert stats.kstest(drawn, "expon").pvalue > 1e-4


def test_numbers_do_not_depend_on_earlier_calls() -> None:
    block, flat = normals(KEYS[:3], 9, 100, 50), uniforms(KEYS[:3], 9, 100, 50)
    for k in range(3):
        assert flat[k].tolist() == [two_uniforms(KEYS[k], 9, 100 + i)[0] for i in range(50)]
        assert normal(KEYS[k], 9, 149) == block[k, -1]
    np.testing.assert_array_equal(normals(KEYS[2:3], 9, 120, 5)[0], block[2, 20:25])
