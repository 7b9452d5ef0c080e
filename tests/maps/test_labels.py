"""Names on a map: nearer to their own dot than to any other, in pictures and, by the page's own script, on pages."""

import json
import subprocess

import numpy as np
import pytest

from extras import program
from nearer.datasets import europe
from nearer.maps import draw, map_html
from nearer.maps.export import canvas_script
from nearer.maps.labels import label_order, place_labels, spread

# A canvas of which a map needs only to measure text, and the map as it stands when a page is opened.
PAGE = """
const [data, width, height] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const measure = (text) => ({width: 6.6 * text.length});
const pen = new Proxy({}, {get: (_, name) => name === "measureText" ? measure : () => {}});
const map = Object.create(NearerMap.prototype);
Object.assign(map, {pen, width, height, margins: [80, 80], obstacles: [[0, 0, 300, 60]], current: -1});
Object.assign(map, {palette: data.palette, labels: data.labels, reference: data.reference, line: data.line});
map.showReference = Boolean(data.reference);
map._data(data.points, data);
map.view = map._fitted();
map.spots = map.points.map((point) => map.screen(point));
map.radii = map.points.map(() => 3);
nearerLabels(map);
const boxes = map.boxes, hovered = [];
for (map.current = 0; map.current < 12; map.current++) {
  const asked = [map.current, ...map.neighbours(map.current)], named = (all) => asked.filter((i) => all.has(i)).length;
  nearerLabels(map);
  hovered.push({same: map.boxes === boxes, complete: named(boxes) === 6, named: named(map.boxes), before: named(boxes)});
}
console.log(JSON.stringify({spots: map.spots, boxes: [...boxes], hovered, last: [...map.boxes]}));
"""
PLACE = """
const {tasks} = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(tasks.map((task) => [...nearerPlace(task)])));
"""


def run_script(script, data):
    """Run the scripts of the page and then some more in node, with data on its input."""
    done = subprocess.run(
        [program("node"), "-e", canvas_script() + script],
        input=json.dumps(data),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def distance(box, point):
    return np.hypot(max(box[0] - point[0], 0, point[0] - box[2]), max(box[1] - point[1], 0, point[1] - box[3]))


def page_of(points, size, **options):
    """Return where a page of some size has its dots and names."""
    data = map_html(points, **options).split('id="data">')[1].split("</script>")[0]
    return run_script(PAGE, [json.loads(data), *size])


def check_boxes(boxes, points):
    """Check, one by one, that no box is nearer to another point than to its own, and that no two overlap."""
    boxes = {i: np.asarray(box) for i, box in boxes.items()}
    for i, box in boxes.items():
        own, others = distance(box, points[i]), np.delete(points, i, axis=0)
        gap = np.clip(np.maximum(box[:2] - others, others - box[2:]), 0, None)
        assert own < np.hypot(*gap.T).min(), f"the name of {i} is nearer to another dot"
    placed = list(boxes.values())
    for i, box in enumerate(placed):
        for other in placed[:i]:
            assert np.any(box[:2] >= other[2:]) or np.any(other[:2] >= box[2:])


def crowd(n, seed=0):
    """Return points in a few clouds of different sizes."""
    random = np.random.default_rng(seed)
    cloud = random.integers(6, size=n)
    return (
        random.normal(size=(6, 2))[cloud] * 3
        + random.normal(size=(n, 2)) * random.uniform(0.3, 1.2, 6)[cloud, None]
    )


def a_task(seed, n=150, **options):
    random = np.random.default_rng(seed)
    points = random.uniform([20, 20], [680, 480], size=(n, 2))
    points[1] = points[0]  # two objects in one place
    task = {"points": points, "sizes": np.column_stack([random.uniform(20, 80, n), np.full(n, 14.0)])}
    task |= {
        "radii": random.uniform(2, 6, n),
        "order": random.permutation(n),
        "page": np.array([0.0, 0.0, 700.0, 500.0]),
    }
    if seed % 2:
        task |= {
            "rings": points + random.normal(size=(n, 2)) * 20,
            "obstacles": np.array([[0.0, 0.0, 200.0, 80.0]]),
        }
    return task | options


def test_boxes_stay_on_the_page_off_obstacles_and_near_their_dots():
    task = a_task(1)
    boxes = place_labels(**task)
    check_boxes({i: box for i, box in boxes.items() if i > 1}, task["points"])
    assert len(boxes) > 40
    for box in boxes.values():
        assert np.all(box[:2] >= 0)
        assert np.all(box[2:] <= [700, 500])
        assert box[0] >= 200 or box[1] >= 80
    assert len(place_labels(**task, most=7)) == 7


def test_one_dot_of_two_objects_may_have_both_names():
    points = np.array([[50.0, 50.0], [50.0, 50.0]])
    boxes = place_labels(points, np.full((2, 2), 10.0), np.ones(2), [0, 1], (0, 0, 100, 100))
    assert sorted(boxes) == [0, 1]


def test_a_name_with_a_choice_makes_room():
    points, page = np.array([[60.0, 20.0], [140.0, 20.0]]), (0, 8, 160, 32)
    sizes = np.array([[50.0, 14.0]] * 2)
    alone = place_labels(points, sizes, np.ones(2), [0], page)
    assert alone[0][0] > 60  # to the right, where the second name has its only place
    both = place_labels(points, sizes, np.ones(2), [0, 1], page)
    assert both[0][2] < 60
    assert 60 < both[1][0] < both[1][2] < 140


def test_every_name_is_placed_if_all_are_asked_for():
    n = 300
    points = np.random.default_rng(0).normal(50, 10, size=(n, 2))
    task = (points, np.full((n, 2), 10.0), np.ones(n), np.arange(n), (0, 0, 100, 100))
    assert len(place_labels(*task)) < n / 4
    assert sorted(place_labels(*task, keep_all=True)) == list(range(n))


def test_the_script_of_the_page_places_as_python_does():
    tasks = [a_task(seed, keep_all=seed > 3) for seed in range(6)] + [a_task(7, n=600, most=40)]
    sent = [{key: np.asarray(value).tolist() for key, value in task.items()} for task in tasks]
    sent = [{("keepAll" if key == "keep_all" else key): value for key, value in task.items()} for task in sent]
    for found, task in zip(run_script(PLACE, {"tasks": sent}), tasks, strict=True):
        expected = place_labels(**task)
        assert [i for i, _ in found] == list(expected)
        np.testing.assert_allclose([box for _, box in found], list(expected.values()), atol=1e-6)


@pytest.mark.parametrize("size", [(1280, 800), (390, 844), (1920, 1080)])
@pytest.mark.parametrize("n", [67, 2000])
def test_no_name_on_a_page_is_nearer_to_another_dot(n, size):
    cities = europe()
    options = (
        {"names": cities.names, "reference": cities.points} if n == 67 else {"names": sorted(map(str, range(n)))}
    )
    points = cities.points + np.random.default_rng(0).normal(size=(67, 2)) * 60 if n == 67 else crowd(n)
    page = page_of(points, size, **options)
    boxes, spots = dict(page["boxes"]), np.array(page["spots"])
    check_boxes(boxes, spots)
    least = {(67, 390): 35, (67, 1280): 55, (67, 1920): 60, (2000, 390): 15, (2000, 1280): 40, (2000, 1920): 60}
    assert len(boxes) >= least[n, size[0]]
    middle = np.median(spots, axis=0)
    quarters = {tuple(spots[i] > middle) for i in boxes}
    assert len(quarters) == 4
    # Names stay where they are under the pointer, unless that names more of the object's neighbors.
    check_boxes(dict(page["last"]), spots)
    for at in page["hovered"]:
        assert at["same"] or (at["named"] > at["before"] and not at["complete"])


# Pictures


@pytest.mark.parametrize("n", [67, 2000])
def test_no_name_in_a_picture_is_nearer_to_another_dot(n):
    points = europe().points if n == 67 else crowd(n)
    figure = draw(points, [f"no. {i}" for i in range(n)], groups=np.arange(n) % 3, title="A map")
    (axes,) = figure.axes
    dots = np.concatenate(
        [axes.transData.transform(part.get_offsets()) for part in axes.collections if len(part.get_offsets())]
    )
    texts = axes.texts
    owners = axes.transData.transform([text.xy for text in texts])
    boxes = {}
    for text, owner in zip(texts, owners, strict=True):
        i = int(np.argmin(np.hypot(*(dots - owner).T)))
        boxes[i] = text.get_window_extent().extents
    assert len(boxes) == len(texts) > 60
    check_boxes(boxes, dots)
    corners, (width, height) = np.array(list(boxes.values())), figure.get_size_inches() * figure.dpi
    room = min(corners[:, :2].min(), (width - corners[:, 2]).min(), (height - corners[:, 3]).min())
    assert room > 0.1 * figure.dpi


# Who comes first


def test_the_order_is_by_weight_and_distance_and_not_by_alphabet():
    points = np.concatenate([np.random.default_rng(0).normal(size=(50, 2)), [[9.0, 9.0]]])
    order = label_order(points)
    assert order[0] == 50  # far from all others
    shuffled = np.random.default_rng(1).permutation(51)
    np.testing.assert_array_equal(shuffled[label_order(points[shuffled])], order)
    weights = np.ones(51)
    weights[7] = 2
    assert label_order(points, weights)[0] == 7
    assert label_order(np.zeros((1, 2))).tolist() == [0]
    assert sorted(label_order(np.zeros((4, 2)))) == [0, 1, 2, 3]


def test_the_first_names_are_spread_over_the_map():
    points = crowd(2000)
    unit = (points - points.min(axis=0)) / np.ptp(points, axis=0).max()
    cells = (unit * 4).astype(int)
    occupied = len(np.unique(cells, axis=0))
    assert len(np.unique(cells[label_order(points)[:30]], axis=0)) >= 0.9 * occupied


@pytest.mark.parametrize("labels", ["none", "all"])
def test_no_names_and_all_names(labels):
    points = crowd(200)
    assert len(draw(points, labels=labels).axes[0].texts) == (200 if labels == "all" else 0)
    assert f'"labels":"{labels}"' in map_html(points, labels=labels)
    with pytest.raises(ValueError, match="labels must be 'auto', 'all' or 'none'; got 'some'"):
        draw(points, labels="some")


def test_a_long_line_names_what_fits():
    points = np.random.default_rng(0).normal(size=(2000, 1))
    axes = draw(points).axes[0]
    assert 30 < len(axes.texts) < 200
    places = axes.collections[0].get_offsets()[:, 0]
    for text in axes.texts:  # each above its own dot
        assert places[int(text.get_text())] == pytest.approx(text.get_position()[0])
    assert len(draw(points[:60]).axes[0].texts) == 60
    page = page_of(points, (1280, 800))
    spots, boxes = np.array(page["spots"]), page["boxes"]
    assert len(boxes) > 30
    for i, box in boxes:
        assert (box[0] + box[2]) / 2 == pytest.approx(spots[i, 0])


def test_spread_moves_apart_and_keeps_order():
    moved = spread(np.array([5.0, 1.0, 5.1, 20.0]), 2.0)
    assert np.all(np.diff(np.sort(moved)) >= 2 - 1e-12)
    np.testing.assert_array_equal(np.argsort(moved), [1, 0, 2, 3])
    assert moved[3] == 20
    np.testing.assert_allclose(moved[[0, 2]], [4.05, 6.05])
