"""Question sets: JSON Lines in the schema of MCR-Bench ("HEAL", appendix E): domain, use_case, prompt, choices,
answer_format, and id and answer beside. The package has one of 100 questions, written for it: 45 medical over 9 use cases,
32 legal over 6, 23 of finance over 5."""

import json
import os
import pathlib
from typing import Any, Dict, List, NamedTuple, Optional, Union

from samebits.heal.errors import HealError

BUILTIN = pathlib.Path(__file__).parent / "questions.jsonl"
LETTERS = "ABCD"
_MOST_BYTES = 64 << 20


class Question(NamedTuple):
    id: str
    domain: str
    use_case: str
    prompt: str
    choices: Dict[str, str]  # "A" to "D"
    answer_format: str
    answer: Optional[str]  # None: not known


def _text(item: Dict[str, Any], key: str) -> str:
    value = item.get(key)
    if not isinstance(value, str) or not value.strip():
        raise HealError(f'"{key}" is missing, empty or no string')
    return value


def _choices(item: Dict[str, Any]) -> Dict[str, str]:
    """An object of the letters, or a list in their order."""
    value = item.get("choices")
    if isinstance(value, list):
        value = dict(zip(LETTERS, value)) if len(value) == len(LETTERS) else None
    if not isinstance(value, dict) or sorted(value) != sorted(LETTERS):
        raise HealError('"choices" are not four, A to D')
    choices = {letter: _text(value, letter) for letter in LETTERS}
    if len(set(choices.values())) < len(LETTERS):
        raise HealError('"choices" has two that are the same')
    return choices


def _question(item: Any) -> Question:
    if not isinstance(item, dict):
        raise HealError("no JSON object")
    answer = item.get("answer")
    if answer is not None and (not isinstance(answer, str) or len(answer) != 1 or answer not in LETTERS):
        raise HealError(f'"answer" is {answer!r}, none of A to D')
    texts = [_text(item, key) for key in ("id", "domain", "use_case", "prompt")]
    return Question(*texts, _choices(item), _text(item, "answer_format"), answer)


def load(path: Union[str, os.PathLike] = BUILTIN) -> List[Question]:
    """HealError with path and line where a question is not of the schema, or its id is that of another."""
    path = pathlib.Path(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise HealError(f"{path} is larger than {_MOST_BYTES >> 20} MiB")
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise HealError(f"{path} cannot be read: {error}") from error
    questions: Dict[str, Question] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            question = _question(json.loads(line))
            if question.id in questions:
                raise HealError(f'"id" is that of an earlier line: {question.id}')
        except (ValueError, RecursionError, HealError) as error:
            raise HealError(f"{path}, line {number}: {error}") from error
        questions[question.id] = question
    if not questions:
        raise HealError(f"{path} holds no question")
    return list(questions.values())
