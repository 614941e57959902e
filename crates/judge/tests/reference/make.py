#!/usr/bin/env python3
"""Writes scipy.json: reference figures for crates/judge from an independent implementation.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install scipy numpy
    /tmp/reference/bin/python crates/judge/tests/reference/make.py

Seeded, so running it again with the same versions writes the same file. The versions that wrote
it stand in the file.
"""

import json
import pathlib

import numpy as np
import scipy
from scipy import stats

RNG = np.random.default_rng(20240229)


def walsh_averages(differences):
    first, second = np.triu_indices(len(differences))
    return np.sort((differences[first] + differences[second]) / 2)


def critical_rank(n, alpha):
    """Largest k with P(W+ <= k - 1) <= alpha / 2, the probabilities by counting in whole numbers."""
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for total, count in enumerate(counts):
            longer[total + rank] += count
        counts = longer
    below, k = 0, 0
    for count in counts:
        below += count
        if below > alpha / 2 * 2**n:
            break
        k += 1
    return k


def signed_rank_case(differences):
    averages = walsh_averages(differences)
    intervals = []
    for alpha in (0.05, 0.02, 0.01, 0.005):
        k = critical_rank(len(differences), alpha)
        if k:
            low, high = averages[k - 1], averages[len(averages) - k]
            intervals.append({"alpha": alpha, "low": low, "high": high})
    return {
        "differences": differences.tolist(),
        "estimate": float(np.median(averages)),
        "p_value": float(stats.wilcoxon(differences, method="exact").pvalue),
        "intervals": intervals,
    }


def tied_case(differences):
    """Zeros dropped, midranks, and every one of the 2^n signs tried."""
    nonzero = differences[differences != 0]
    test = stats.wilcoxon(
        differences,
        zero_method="wilcox",
        method=stats.PermutationMethod(n_resamples=np.inf),
    )
    return {
        "differences": differences.tolist(),
        "nonzero": len(nonzero),
        "p_value": float(test.pvalue),
    }


def welch_case(first, second):
    test = stats.ttest_ind(first, second, equal_var=False)
    return {"first": first.tolist(), "second": second.tolist(), "p_value": float(test.pvalue)}


def median_case(n, alpha):
    """Largest k with P(Bin(n, 1/2) <= k - 1) <= alpha / 2."""
    ranks = np.arange(0, n)
    fits = stats.binom.cdf(ranks, n, 0.5) <= alpha / 2
    return {"n": n, "alpha": alpha, "rank": int(fits.sum())}


def main():
    heavy = lambda n, shift: RNG.standard_t(2, n) * 0.05 + shift
    data = {
        "scipy": scipy.__version__,
        "numpy": np.__version__,
        "signed_rank": [
            signed_rank_case(heavy(n, shift))
            for n in (5, 8, 10, 16, 24, 40, 50)
            for shift in (0.0, 0.04)
        ],
        "tied": [
            tied_case(RNG.integers(-3, 5, n).astype(float)) for n in (6, 9, 12, 12, 14)
        ],
        "welch": [
            welch_case(RNG.normal(10, 1, n), RNG.normal(10 + shift, 3, m))
            for n, m in ((2, 2), (5, 5), (10, 10), (10, 4), (30, 30))
            for shift in (0.0, 2.0)
        ],
        "median": [
            median_case(n, alpha)
            for n in (5, 6, 10, 16, 17, 24, 40, 100, 500)
            for alpha in (0.05, 0.01)
        ],
        "normal": [
            {"p": p, "quantile": float(stats.norm.ppf(p))}
            for p in (1e-9, 1e-4, 0.0025, 0.02, 0.025, 0.3, 0.8, 0.975, 0.9975, 0.99999)
        ],
        "student": [
            {"alpha": alpha, "freedom": freedom, "quantile": float(stats.t.ppf(1 - alpha / 2, freedom))}
            for alpha in (0.05, 0.001)
            for freedom in (1, 2, 3.7, 9, 40, 1000)
        ],
        "student_p": [
            {"t": t, "freedom": freedom, "p_value": float(2 * stats.t.sf(t, freedom))}
            for t in (0.001, 0.5, 2.1, 9.0)
            for freedom in (1, 2.5, 18, 300, 3000)
        ],
    }
    path = pathlib.Path(__file__).with_name("scipy.json")
    path.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
