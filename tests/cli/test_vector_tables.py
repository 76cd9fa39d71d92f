"""``twinset plan`` and ``pairs`` with given tables, bits and probes of vectors."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run
from tests.directions import directions


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    np.save(tmp_path / "vectors.npy", directions(3000, 32, 1))
    return str(tmp_path / "vectors.npy")


def test_plan_says_the_theory(run: Run, vectors: str) -> None:
    words = ["plan", vectors, "--vectors", "--threshold", "0.9", "--tables", "4", "--bits", "9"]
    text = " ".join(run(*words).stdout.split())
    assert text.startswith("hyperplane: 4 tables of 9 bits, ")
    assert "One bit agrees with probability p1 = 0.8564 at R and p2 = 0.7048 at cR" in text
    assert "ρ = ln(1/p1) / ln(1/p2) = 0.443" in text
    assert "n = 3,000 vectors need L = n^ρ = 35 tables of k = ln n / ln(1/p2) = 23 functions" in text
    values = json.loads(run(*words, "--json").stdout)
    assert (values["tables"], values["functions"], values["method"]) == (4, 9, "hyperplane")
    assert values["theory"]["p1"] == pytest.approx(1 - math.acos(0.9) / math.pi)


def test_a_small_collection_has_the_theory_of_the_cheapest_tables(run: Run, vectors: str) -> None:
    text = " ".join(run("plan", vectors, "--vectors", "--threshold", "0.9").stdout.split())
    assert text.startswith("exact: every pair")
    assert "ρ = ln(1/p1) / ln(1/p2) = " in text
    assert "the cheapest plan with tables, " in text


def test_pairs_says_what_given_tables_reach(run: Run, vectors: str, tmp_path: Path) -> None:
    words = ["--vectors", "--threshold", "0.9", "--tables", "1", "--bits", "12", "--probes", "0"]
    done = run("pairs", vectors, *words, "-o", str(tmp_path / "pairs.csv"))
    assert done.returncode == 0
    told = " ".join(done.stderr.split())
    assert "hyperplane: 1 table of 12 bits: a pair at cosine 0.9 is found with probability 0.15" in told
    assert "less than the requested recall of 0.99" in told


def test_plan_of_sparse_vectors(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    data, indices, starts = np.ones(5), np.array([0, 3, 0, 3, 1]), np.array([0, 2, 4, 5])
    np.savez(path, data=data, indices=indices, indptr=starts, shape=(3, 4), format=np.array(b"csr"))
    done = run("plan", str(path), "--vectors")
    assert done.stdout.splitlines()[0].startswith("exact, by lists of rare columns: every pair at cosine 0.8 is found")
    assert "3 items read, 2 of them distinct" in done.stdout
    assert json.loads(run("plan", str(path), "--vectors", "--json").stdout)["reached"] == 1
    refused = run("plan", str(path), "--vectors", "--plot", str(tmp_path / "a.svg"))
    assert (refused.returncode, len(refused.stderr.strip().splitlines()[-1:])) == (2, 1)
    assert "there is no curve" in refused.stderr
    assert "name a source to read them" in run("plan", "--vectors", "--sparse").stderr
    pairs = run("pairs", str(path), "--vectors", "--threshold", ".8")
    assert pairs.stdout.splitlines()[1:] == [f'"{path}:0","{path}:1",1']
