"""Model files taken apart, changed and put together again."""

import io
import json
import zipfile

import numpy as np


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


def npy(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()
