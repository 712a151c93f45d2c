"""Byte-level byte-pair encoding, from the tokenizer.json of a model's folder."""

import functools
import json
import pathlib
import unicodedata
from typing import Any, Dict, Iterable, Iterator, List, Tuple, Union

from samebits.heal.errors import HealError

_CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
# Unicode's White_Space; str.isspace() takes four control characters too.
_SPACES = frozenset(chr(c) for c in (*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029,
                                     0x202F, 0x205F, 0x3000))


@functools.lru_cache(maxsize=1)
def byte_characters() -> Tuple[str, ...]:
    """The character that stands for each byte in a vocabulary: itself where it prints, else one from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in printable else next(others)) for byte in range(256))


def _kind(character: str) -> str:
    """S: white space, L: letter, N: number, O: another."""
    if character in _SPACES:
        return "S"
    major = unicodedata.category(character)[0]
    return major if major in "LN" else "O"


def _segments(text: str) -> Iterator[str]:
    """Cuts out every digit."""
    start = 0
    for at, character in enumerate(text):
        if _kind(character) == "N":
            if start < at:
                yield text[start:at]
            yield character
            start = at + 1
    if start < len(text):
        yield text[start:]


def _run_end(text: str, at: int, kind: str) -> int:
    while at < len(text) and _kind(text[at]) == kind:
        at += 1
    return at


def _word_end(text: str, start: int) -> int:
    """End of the piece that begins at `start`: a contraction; letters, numbers or others with at most one space before;
    white space, whose last character is left to what follows."""
    for contraction in _CONTRACTIONS:
        if text.startswith(contraction, start):
            return start + len(contraction)
    first = start + 1 if text[start] == " " and start + 1 < len(text) else start
    kind = _kind(text[first])
    if kind != "S":
        return _run_end(text, first, kind)
    end = _run_end(text, start, "S")
    return end if end == len(text) or end == start + 1 else end - 1


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _word_end(text, start)
        yield text[start:end]
        start = end


class Tokenizer:
    """encode and decode of one vocabulary."""

    def __init__(self, vocabulary: Dict[str, int], merges: Iterable[Tuple[str, str]], special: Dict[str, int],
                 single_digits: bool):
        self.special = dict(special)
        self._ids = vocabulary
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._single_digits = single_digits
        self._byte_of = {character: byte for byte, character in enumerate(byte_characters())}
        self.token_bytes = self._decode_table()
        self._encode_piece = functools.lru_cache(maxsize=1 << 16)(self._merge)

    def __len__(self) -> int:
        return len(self.token_bytes)

    def _decode_table(self) -> List[bytes]:
        """The bytes of every token; of special ones those of their name."""
        table = [b""] * (1 + max([*self._ids.values(), *self.special.values()], default=-1))
        for token, index in self._ids.items():
            if token not in self.special:
                try:
                    table[index] = bytes(self._byte_of[character] for character in token)
                except KeyError as error:
                    raise HealError(f"token {index} of the vocabulary, {token!r}, is not spelt in bytes") from error
        for token, index in self.special.items():
            table[index] = token.encode()
        return table

    def _merge(self, piece: str) -> Tuple[int, ...]:
        parts = [byte_characters()[byte] for byte in piece.encode()]
        while len(parts) > 1:
            pairs = zip(parts, parts[1:])
            rank, best = min((self._ranks.get(pair, len(self._ranks)), pair) for pair in pairs)
            if rank == len(self._ranks):
                break
            parts = self._joined(parts, best)
        try:
            return tuple(self._ids[part] for part in parts)
        except KeyError as error:
            raise HealError(f"the vocabulary has no token for {error.args[0]!r} of {piece!r}") from error

    @staticmethod
    def _joined(parts: List[str], pair: Tuple[str, str]) -> List[str]:
        out: List[str] = []
        at = 0
        while at < len(parts):
            both = at + 1 < len(parts) and (parts[at], parts[at + 1]) == pair
            out.append(parts[at] + parts[at + 1] if both else parts[at])
            at += 2 if both else 1
        return out

    def encode(self, text: str) -> List[int]:
        """Tokens of the text. Names of special tokens in it are text like any other."""
        segments = _segments(text) if self._single_digits else (text,)
        return [token for segment in segments for piece in _pieces(segment) for token in self._encode_piece(piece)]

    def decode_bytes(self, tokens: Iterable[int], keep_special: bool = False) -> bytes:
        hidden = () if keep_special else set(self.special.values())
        return b"".join(self.token_bytes[token] for token in tokens if token not in hidden)

    def decode(self, tokens: Iterable[int], keep_special: bool = False) -> str:
        """The text; bytes that are no UTF-8 become U+FFFD. Special tokens are left out unless they shall be kept."""
        return self.decode_bytes(tokens, keep_special).decode("utf-8", "replace")


def read_json(path: pathlib.Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HealError(f"{path} cannot be read: {error}") from error


def _single_digits(pre: Any) -> bool:
    """Whether the pre-tokenizer cuts out digits. HealError where it does another thing that _pieces does not."""
    steps = pre.get("pretokenizers") if pre.get("type") == "Sequence" else [pre]
    plain = steps and steps[-1].get("type") == "ByteLevel" and not steps[-1].get("add_prefix_space", True) and \
        steps[-1].get("use_regex", True)
    if plain and len(steps) == 1:
        return False
    if plain and len(steps) == 2 and steps[0].get("type") == "Digits" and steps[0].get("individual_digits"):
        return True
    raise HealError("its pre_tokenizer is not one of those that are implemented: ByteLevel, or Digits (individual) and "
                    "ByteLevel, without prefix space")


def load(folder: Union[str, pathlib.Path]) -> Tokenizer:
    """The tokenizer of a model's folder."""
    path = pathlib.Path(folder) / "tokenizer.json"
    content = read_json(path)
    try:
        model = content["model"]
        if model["type"] != "BPE" or content.get("normalizer") or model.get("byte_fallback") or model.get("ignore_merges"):
            raise HealError("only byte-level BPE without normalizer is implemented")
        merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
        if any(len(m) != 2 for m in merges):
            raise HealError("a merge is no pair")
        special = {token["content"]: token["id"] for token in content["added_tokens"]}
        return Tokenizer(model["vocab"], merges, special, _single_digits(content["pre_tokenizer"] or {}))
    except HealError as error:
        raise HealError(f"{path}: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise HealError(f"{path} is no tokenizer.json: {type(error).__name__} {error}") from error
