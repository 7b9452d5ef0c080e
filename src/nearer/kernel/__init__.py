"""A positive semidefinite kernel from answers alone: online (ERKLE), or as the optimum of a convex program."""

__all__: list[str] = []
