"""Writes questions as a prompt file of `samebits heal`: tokens of a model's chat format, and what reads answers back.

    python -m samebits.heal.prepare --model FOLDER --output prompts.jsonl

FOLDER is a model's folder with tokenizer.json and tokenizer_config.json (samebits.heal.fetch_model makes one).
"""

import argparse
import json
import os
import pathlib
import sys
from typing import Any, Dict, List

from samebits.heal import chat, questions
from samebits.heal.errors import HealError
from samebits.heal.questions import Question

FORMAT = "samebits-prompts/1"
STYLES = {
    "letter": 'Which option is best? Reply with "The answer is" and its letter.',
    "explain": "Which option is best, and why?",
    "reason": "Think step by step. Then end with one line of this form: {answer_format}.",
}


def prompt_text(question: Question, style: str) -> str:
    """What the user says."""
    options = "\n".join(f"({letter}) {text}" for letter, text in question.choices.items())
    instruction = STYLES[style].format(answer_format=question.answer_format)
    return f"{question.prompt}\n\nOptions:\n{options}\n\n{instruction}"


def header(model: str, name: str, conversation: chat.Chat) -> Dict[str, Any]:
    """First line of the file. A string of the vocabulary has a character for each byte; special tokens have none."""
    special = set(conversation.tokenizer.special.values())
    vocabulary = ["" if index in special else token.decode("latin-1")
                  for index, token in enumerate(conversation.tokenizer.token_bytes)]
    return {"format": FORMAT, "name": name, "model": model, "stop_tokens": list(conversation.stop_tokens),
            "vocabulary": vocabulary}


def line_of(question: Question, style: str, conversation: chat.Chat) -> Dict[str, Any]:
    tokens = conversation.encode([chat.Message("user", prompt_text(question, style))])
    line = {**question._asdict(), "tokens": tokens}
    return {key: value for key, value in line.items() if value is not None}


def prepare(model: pathlib.Path, output: pathlib.Path, source: pathlib.Path = questions.BUILTIN,
            style: str = "letter") -> List[int]:
    """Writes the file and returns how many tokens each prompt has."""
    asked, conversation = questions.load(source), chat.load(model)
    lines = [line_of(question, style, conversation) for question in asked]
    part = output.with_name(output.name + ".part")
    try:
        with open(part, "w", encoding="utf-8") as file:
            for line in (header(model.name, f"{source.stem}, {style}", conversation), *lines):
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
        os.replace(part, output)
    except OSError as error:
        raise HealError(f"{output} cannot be written: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    return [len(line["tokens"]) for line in lines]


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m samebits.heal.prepare", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, required=True, help="the model's folder")
    parser.add_argument("--questions", type=pathlib.Path, default=questions.BUILTIN,
                        help="JSON Lines in the schema of MCR-Bench (default: the package's own 100)")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the prompt file")
    parser.add_argument("--style", choices=sorted(STYLES), default="letter",
                        help="letter: a short answer, which small models can give; explain: longer answers; "
                             "reason: steps first and the letter last, for larger models")
    options = parser.parse_args(arguments)
    try:
        counts = prepare(options.model, options.output, options.questions, options.style)
    except HealError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"wrote {options.output}: {len(counts)} prompts of {min(counts)} to {max(counts)} tokens, {sum(counts)} together")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
