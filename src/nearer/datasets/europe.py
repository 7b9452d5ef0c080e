"""European cities and where they lie: the answer sheet of the demo.

The demo asks "is Vienna nearer to Prague or to Rome?", gives the learner the answers alone, and compares
the map it draws with this one. Positions are city centres in degrees, rounded to 0.1° or better. They are
plain geographical facts, compiled for this library and free of copyright: use them as you like (public
domain, CC0).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Europe", "europe"]

EARTH_RADIUS_KM = 6371.0
CENTRE = (52.0, 10.0)  # the usual centre of equal-area maps of Europe: latitude, longitude in degrees

# name | country | region | latitude north | longitude east
_CITIES = """
Reykjavik | Iceland | North | 64.15 | -21.94
Dublin | Ireland | West | 53.35 | -6.26
Belfast | United Kingdom | West | 54.60 | -5.93
Edinburgh | United Kingdom | West | 55.95 | -3.19
Manchester | United Kingdom | West | 53.48 | -2.24
London | United Kingdom | West | 51.51 | -0.13
Lisbon | Portugal | South | 38.72 | -9.14
Porto | Portugal | South | 41.15 | -8.61
Madrid | Spain | South | 40.42 | -3.70
Seville | Spain | South | 37.39 | -5.98
Valencia | Spain | South | 39.47 | -0.38
Barcelona | Spain | South | 41.39 | 2.17
Bilbao | Spain | South | 43.26 | -2.93
Bordeaux | France | West | 44.84 | -0.58
Toulouse | France | West | 43.60 | 1.44
Marseille | France | West | 43.30 | 5.37
Lyon | France | West | 45.76 | 4.84
Paris | France | West | 48.86 | 2.35
Brest | France | West | 48.39 | -4.49
Brussels | Belgium | West | 50.85 | 4.35
Amsterdam | Netherlands | West | 52.37 | 4.90
Luxembourg | Luxembourg | West | 49.61 | 6.13
Zurich | Switzerland | Central | 47.37 | 8.54
Cologne | Germany | Central | 50.94 | 6.96
Hamburg | Germany | Central | 53.55 | 9.99
Berlin | Germany | Central | 52.52 | 13.40
Munich | Germany | Central | 48.14 | 11.58
Vienna | Austria | Central | 48.21 | 16.37
Prague | Czechia | Central | 50.08 | 14.44
Warsaw | Poland | Central | 52.23 | 21.01
Krakow | Poland | Central | 50.06 | 19.94
Gdansk | Poland | Central | 54.35 | 18.65
Budapest | Hungary | Central | 47.50 | 19.04
Ljubljana | Slovenia | Central | 46.06 | 14.51
Milan | Italy | South | 45.46 | 9.19
Rome | Italy | South | 41.90 | 12.50
Naples | Italy | South | 40.85 | 14.27
Palermo | Italy | South | 38.12 | 13.36
Cagliari | Italy | South | 39.22 | 9.12
Valletta | Malta | South | 35.90 | 14.51
Copenhagen | Denmark | North | 55.68 | 12.57
Oslo | Norway | North | 59.91 | 10.75
Bergen | Norway | North | 60.39 | 5.32
Trondheim | Norway | North | 63.43 | 10.40
Tromsø | Norway | North | 69.65 | 18.96
Gothenburg | Sweden | North | 57.71 | 11.97
Stockholm | Sweden | North | 59.33 | 18.07
Helsinki | Finland | North | 60.17 | 24.94
Oulu | Finland | North | 65.01 | 25.47
Tallinn | Estonia | North | 59.44 | 24.75
Riga | Latvia | North | 56.95 | 24.11
Vilnius | Lithuania | North | 54.69 | 25.28
Minsk | Belarus | East | 53.90 | 27.57
Kyiv | Ukraine | East | 50.45 | 30.52
Lviv | Ukraine | East | 49.84 | 24.03
Odesa | Ukraine | East | 46.48 | 30.73
Chisinau | Moldova | East | 47.01 | 28.86
Bucharest | Romania | East | 44.43 | 26.10
Sofia | Bulgaria | East | 42.70 | 23.32
Belgrade | Serbia | East | 44.79 | 20.45
Sarajevo | Bosnia and Herzegovina | East | 43.86 | 18.41
Tirana | Albania | East | 41.33 | 19.82
Athens | Greece | South | 37.98 | 23.73
Thessaloniki | Greece | South | 40.64 | 22.94
Istanbul | Turkey | East | 41.01 | 28.98
Saint Petersburg | Russia | East | 59.94 | 30.31
Moscow | Russia | East | 55.76 | 37.62
"""


class Europe(NamedTuple):
    """Cities of Europe, one row each in every field.

    Attributes
    ----------
    names : array of str
        English names, each once.
    countries : array of str
        The country the city lies in.
    regions : array of str
        ``"North"``, ``"West"``, ``"Central"``, ``"South"`` or ``"East"``: a rough compass for colouring maps.
    latitude, longitude : array of float
        Degrees north and degrees east.
    points : array of shape (n, 2)
        Kilometres east and north of 52° N 10° E in Lambert's azimuthal equal-area projection.

    Examples
    --------
    >>> from nearer.datasets import europe
    >>> cities = europe()
    >>> cities.countries[cities.names == "Vienna"]
    array(['Austria'], dtype=...)
    """

    names: NDArray[np.str_]
    countries: NDArray[np.str_]
    regions: NDArray[np.str_]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    points: NDArray[np.float64]


def europe() -> Europe:
    """Large cities of Europe with their positions.

    Returns
    -------
    Europe
        Names, countries, rough regions, degrees, and points on a plane in kilometres. The arrays are fresh at
        every call.

    Notes
    -----
    Geographical facts, rounded to 0.1° or better, compiled for this library; public domain. On
    the plane a distance differs from the one on the globe by about 1 % between neighbours and a few percent
    from one end of Europe to the other.

    Examples
    --------
    >>> from nearer.datasets import europe
    >>> cities = europe()
    >>> cities.points.shape
    (67, 2)
    >>> vienna, prague = cities.points[cities.names == "Vienna"], cities.points[cities.names == "Prague"]
    >>> print(f"{((vienna - prague) ** 2).sum() ** 0.5:.0f} km")
    251 km
    """
    rows = [[cell.strip() for cell in line.split("|")] for line in _CITIES.strip().splitlines()]
    names, countries, regions, north, east = (np.array(column) for column in zip(*rows, strict=True))
    latitude, longitude = north.astype(np.float64), east.astype(np.float64)
    return Europe(names, countries, regions, latitude, longitude, _equal_area(latitude, longitude))


def _equal_area(latitude: NDArray[np.float64], longitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lambert's azimuthal equal-area projection of the sphere, in kilometres from its centre."""
    lat0, lon0 = np.radians(CENTRE)
    lat, lon = np.radians(latitude), np.radians(longitude) - lon0
    stretch = np.sqrt(2 / (1 + np.sin(lat0) * np.sin(lat) + np.cos(lat0) * np.cos(lat) * np.cos(lon)))
    x = stretch * np.cos(lat) * np.sin(lon)
    y = stretch * (np.cos(lat0) * np.sin(lat) - np.sin(lat0) * np.cos(lat) * np.cos(lon))
    return EARTH_RADIUS_KM * np.column_stack([x, y])
