"""What became of the configurations of a search."""

import dataclasses
import html
from typing import Any, Dict, Optional, Tuple

from samebits.results import Signature, Verdict


class EquivalenceError(Exception):
    """No configuration can be kept: none is proved to return the reference's bits."""


@dataclasses.dataclass(frozen=True)
class Row:
    """What became of one configuration."""

    config: Any  # triton.Config
    kept: bool
    verdict: Optional[Verdict]  # against the reference; None where the configuration does not compile
    reason: str
    signature: Optional[Signature]


@dataclasses.dataclass(frozen=True)
class Report:
    """One pruning: every configuration with its fate, and where the time went."""

    kernel: str
    reference: str
    rows: Tuple[Row, ...]
    checked_by: str
    cached: int  # signatures that were known before
    seconds: Dict[str, float]

    @property
    def kept(self) -> Tuple[Any, ...]:
        return tuple(row.config for row in self.rows if row.kept)

    @property
    def dropped(self) -> Tuple[Row, ...]:
        return tuple(row for row in self.rows if not row.kept)

    def __str__(self) -> str:
        lines = [f"{self.kernel}: {len(self.kept)} of {len(self.rows)} configurations kept, reference: {self.reference}; "
                 f"{self.checked_by}, {self.seconds['total']:.2f} s"]
        lines += [f"  dropped  {row.config}: {row.reason}" for row in self.dropped]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td style='text-align:left'>{'kept' if row.kept else '<b>dropped</b>'}</td>"
            f"<td style='text-align:left'>{html.escape(str(row.config))}</td>"
            f"<td style='text-align:left'>{html.escape(row.reason)}</td></tr>" for row in self.rows)
        return f"<p>{html.escape(str(self).splitlines()[0])}</p><table>{cells}</table>"
