"""Signatures on disk, keyed by everything that they depend on."""

import hashlib
import json
import os
import pathlib
import tempfile
from typing import Any, Dict, Optional

from samebits.results import Signature, Status


def default_folder() -> pathlib.Path:
    """$SAMEBITS_CACHE, else samebits below the user's cache folder."""
    named = os.environ.get("SAMEBITS_CACHE")
    if named:
        return pathlib.Path(named)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "samebits"


class SignatureCache:
    """Maps a launch's key to its signature. Safe for concurrent processes; a damaged or foreign file counts as absent."""

    def __init__(self, folder: Optional[os.PathLike], context: Dict[str, Any]):
        """`context`: what signatures depend on besides the launch: signature version and options. None: no cache."""
        self._folder = None if folder is None else pathlib.Path(folder) / "triton"
        self._context = json.dumps(context, sort_keys=True)

    def _path(self, key: str) -> pathlib.Path:
        name = hashlib.sha256(f"{key}\n{self._context}".encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.json"

    def get(self, key: str) -> Optional[Signature]:
        if self._folder is None:
            return None
        try:
            stored = json.loads(self._path(key).read_text())
            if stored["key"] != key or stored["context"] != self._context:
                return None
            return Signature(Status(stored["status"]), stored["digest"], stored["reason"], stored["reason_code"],
                             assumptions=tuple(stored["assumptions"]), version=stored["version"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, signature: Signature) -> None:
        """Keeps what a repeated check would find again: not what ran out of time."""
        if self._folder is None or signature.reason_code in ("TIME_LIMIT", "CANCELLED"):
            return
        stored = {"key": key, "context": self._context, "status": signature.status.value, "digest": signature.digest,
                  "reason": signature.reason, "reason_code": signature.reason_code,
                  "assumptions": signature.assumptions, "version": signature.version}
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
                json.dump(stored, file)
            os.replace(file.name, path)
        except OSError:
            pass  # a cache that cannot be written is no cache
