"""What theory says of a plan: near, far, p1, p2 and the exponent."""

from __future__ import annotations

import math

import pytest

from twinset.plan.vector_theory import VectorTheory
from twinset.plan.vectors import vector_plan


def test_hyperplanes_by_their_angles() -> None:
    plan = vector_plan(0.8, dimensions=100, method="hyperplane", functions=10, probes=0)
    found = VectorTheory.of(plan, 50_000)
    near = math.sqrt(2 - 2 * 0.8)
    assert (found.near, found.far) == (near, 2 * near)
    cosine = 1 - (2 * near) ** 2 / 2
    p1, p2 = (1 - math.acos(one) / math.pi for one in (0.8, cosine))
    rho = math.log(1 / p1) / math.log(1 / p2)
    assert (found.p1, found.p2, found.rho) == pytest.approx((p1, p2, rho))
    assert found.functions == math.ceil(math.log(50_000) / math.log(1 / p2))
    assert found.tables == math.ceil(50_000**rho)


def test_tables_of_the_theory_find_more_than_it_promises() -> None:
    found = VectorTheory.of(vector_plan(0.9, dimensions=64, method="hyperplane", functions=10, probes=0), 10_000)
    assert found.functions is not None
    assert found.tables is not None
    assert 1 - (1 - found.p1**found.functions) ** found.tables > 1 - 1 / math.e - 0.1


def test_strips_depend_on_distances_alone() -> None:
    plans = [vector_plan(radius, dimensions=16, measure="distance", tables=3) for radius in (1, 7)]
    near, far = (VectorTheory.of(plan, 1000) for plan in plans)
    assert (far.near, far.far) == (7 * near.near, 7 * near.far) == (7, 14)
    assert (near.near_cosine, near.far_cosine) == (None, None)
    assert 0 < near.p2 < near.p1 < 1


def test_opposite_vectors_and_equal_ones() -> None:
    opposite = VectorTheory.of(vector_plan(0.3, dimensions=16, method="hyperplane", functions=4, probes=0), 1000)
    assert (opposite.far, opposite.far_cosine, opposite.p2, opposite.rho) == (2.0, -1.0, 0.0, 0.0)
    assert opposite.tables is None
    equal = VectorTheory.of(vector_plan(1.0, dimensions=16, method="hyperplane", functions=4, probes=0), 1000)
    assert (equal.near, equal.far, equal.p1, equal.rho) == (0.0, 0.0, 1.0, 0.0)
