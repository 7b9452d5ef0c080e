"""The cities lie where they should, and the plane keeps their distances."""

import numpy as np
import pytest

from nearer.datasets import europe
from nearer.datasets.europe import EARTH_RADIUS_KM


def globe_distances(latitude, longitude):
    lat, lon = np.radians(latitude), np.radians(longitude)
    xyz = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    chord = np.linalg.norm(xyz[:, None] - xyz[None], axis=2)
    return EARTH_RADIUS_KM * 2 * np.arcsin(np.clip(chord / 2, 0, 1))


def test_every_city_once_and_in_europe():
    cities = europe()
    n = len(cities.names)
    assert 55 <= n <= 70
    assert len(set(cities.names.tolist())) == n
    assert all(len(field) == n for field in cities)
    assert np.all((cities.latitude > 34) & (cities.latitude < 72))
    assert np.all((cities.longitude > -25) & (cities.longitude < 45))
    assert set(cities.regions.tolist()) == {"North", "West", "Central", "South", "East"}
    assert cities.countries[cities.names == "Vienna"].tolist() == ["Austria"]


@pytest.mark.parametrize(
    ("a", "b", "km"),
    [
        ("Vienna", "Prague", 251),
        ("Paris", "London", 344),
        ("Rome", "Athens", 1051),
        ("Oslo", "Stockholm", 416),
    ],
)
def test_known_distances(a, b, km):
    cities = europe()
    pair = [cities.names.tolist().index(a), cities.names.tolist().index(b)]
    assert globe_distances(cities.latitude, cities.longitude)[pair[0], pair[1]] == pytest.approx(km, rel=0.02)
    assert np.linalg.norm(np.subtract(*cities.points[pair])) == pytest.approx(km, rel=0.03)


def test_the_plane_keeps_distances():
    cities = europe()
    plane = np.linalg.norm(cities.points[:, None] - cities.points[None], axis=2)
    globe = globe_distances(cities.latitude, cities.longitude)
    apart = ~np.eye(len(plane), dtype=bool)
    assert np.max(np.abs(plane[apart] / globe[apart] - 1)) < 0.04


def test_points_are_east_and_north():
    cities = europe()
    where = dict(zip(cities.names.tolist(), cities.points, strict=True))
    assert where["Moscow"][0] > where["Berlin"][0] > where["Lisbon"][0]
    assert where["Tromsø"][1] > where["Berlin"][1] > where["Athens"][1]


def test_arrays_are_fresh():
    europe().points[:] = 0
    assert np.any(europe().points != 0)
