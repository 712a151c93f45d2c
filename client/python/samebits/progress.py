"""Progress bars of jobs: in terminals, and in notebooks where IPython is there."""

import contextlib
import shutil
import sys
import time
from typing import Any, Callable, Iterator, Optional, Union

# JobStatus -> None.
StatusFn = Callable[[Any], None]
ProgressChoice = Union[None, bool, StatusFn]

_REDRAW = 0.1
_LINE_PERIOD = 10.0
_COLUMNS = 24


def _in_notebook() -> bool:
    """Whether this is an IPython kernel, which shows HTML. IPython is not imported for the answer."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


def progress_text(status: Any, seconds: float) -> str:
    """"12 of 40 steps, about 8 s left"."""
    done, total = status.steps_done, status.steps_total
    if status.state.ended or not total:
        return f"{status.state.value.lower()}, {seconds:.0f} s"
    left = f", about {seconds / done * (total - done):.0f} s left" if done else ""
    return f"{done} of {total} steps{left}"


class _Terminal:
    """One line that is drawn over and over; where the stream is no terminal, a line every ten seconds."""

    def __init__(self, stream: Any):
        self._stream, self._start, self._shown = stream, time.monotonic(), False
        self._last: Optional[float] = None
        self._in_place = stream.isatty()

    def show(self, status: Any) -> None:
        now = time.monotonic()
        if self._last is not None and now - self._last < (_REDRAW if self._in_place else _LINE_PERIOD):
            return
        self._last = now
        text = progress_text(status, now - self._start)
        if not self._in_place:
            print(f"samebits: {status.name}: {text}", file=self._stream, flush=True)
            return
        bar = "#" * int(_COLUMNS * status.progress)
        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r\033[K" + f"[{bar:{_COLUMNS}}] {text}  {status.name}"[:width])
        self._stream.flush()
        self._shown = True

    def close(self) -> None:
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()


class _Notebook:
    """A display that is updated in place; the last state stays."""

    def __init__(self) -> None:
        self._start, self._last = time.monotonic(), 0.0
        self._handle: Any = None

    def show(self, status: Any) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        from samebits import _job_display

        now = time.monotonic()
        if not status.state.ended and self._handle is not None and now - self._last < _REDRAW:
            return
        self._last = now
        drawn = HTML(_job_display.progress_html(status, progress_text(status, now - self._start)))
        if self._handle is None:
            self._handle = display(drawn, display_id=True)
        else:
            self._handle.update(drawn)

    def close(self) -> None:
        """The last state stays on the page."""


@contextlib.contextmanager
def progress_display(choice: ProgressChoice, stream: Optional[Any] = None) -> Iterator[StatusFn]:
    """Where states of a job are shown, as Job.wait says; `stream` stands for standard error."""
    stream = sys.stderr if stream is None else stream
    if callable(choice):
        yield choice
    elif choice is False or (choice is None and not _in_notebook() and not (stream is not None and stream.isatty())):
        yield lambda status: None
    else:
        bar = _Notebook() if _in_notebook() else _Terminal(stream)
        try:
            yield bar.show
        finally:
            bar.close()
