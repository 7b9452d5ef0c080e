"""What the commands that take a model file share: its objects, by name or number."""

from difflib import get_close_matches
from typing import Any


def names_of(model: Any) -> list[str]:
    """One name an object; its number where the model knows no names."""
    return [str(number) for number in range(len(model.embedding_))] if model.names_ is None else list(model.names_)


def object_called(model: Any, text: str) -> int:
    """The number of the object that a person means; ValueError with the names that come close."""
    names = names_of(model)
    if text in names:
        return names.index(text)
    if text.isdecimal() and int(text) < len(names):
        return int(text)
    plain = {name.casefold(): name for name in names}
    close = [plain[match] for match in get_close_matches(text.casefold(), plain, n=3, cutoff=0.65)]
    if model.names_ is None:
        hint = f"its {len(names)} objects are numbered 0 to {len(names) - 1}"
    elif close:
        hint = f"did you mean {' or '.join(close)}?"
    else:
        hint = f"it has {len(names)}, such as {', '.join(names[:3])}"
    raise ValueError(f"the model has no object called {text!r}; {hint}")
