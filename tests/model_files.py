"""Model files taken apart, changed and put together again."""

import io
import json
import zipfile

import numpy as np
from hypothesis import strategies as st


def rewritten(path, change=None, *, drop=(), add=None, compression=zipfile.ZIP_STORED):
    """Take the file apart, change its JSON or members, and put it together again."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    record = json.loads(members["model.json"])
    if change:
        change(record)
    members["model.json"] = json.dumps(record).encode()
    members.update(add or {})
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            if name not in drop:
                file.writestr(name, content)


def damage(content, data):
    """Cut the bytes of a file off somewhere, or not, and change up to four of them."""
    content = bytearray(content)
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    for _ in range(data.draw(st.integers(0, 4))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    return bytes(content)


def npy(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()
