"""What figures of several papers share."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["share_legend"]


def share_legend(figure: "Figure", n_columns: int) -> None:
    """Put one legend with the labels of all panels below them."""
    labels: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    figure.legend(
        list(labels.values()), list(labels), loc="outside lower center", ncols=n_columns, fontsize=8, frameon=False
    )
