"""Conversations as tokens: ChatML, which SmolLM2 and others use."""

import pathlib
import re
from typing import List, NamedTuple, Optional, Tuple, Union

from samebits.heal import tokenizer as tokenizers
from samebits.heal.errors import HealError

START, END = "<|im_start|>", "<|im_end|>"
_SYSTEM = re.compile(re.escape(START) + r"system(?:\n|\\n)([^<{}]*?)" + re.escape(END))


class Message(NamedTuple):
    role: str  # "system", "user", "assistant"
    content: str


class Chat:
    """default_system: what the template says first where a conversation has no system message; None: nothing."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, default_system: Optional[str]):
        if START not in tokenizer.special or END not in tokenizer.special:
            raise HealError(f"the vocabulary has no special tokens {START} and {END}; only ChatML is implemented")
        self.tokenizer, self.default_system = tokenizer, default_system
        self._start, self._end = tokenizer.special[START], tokenizer.special[END]

    def encode(self, messages: List[Message]) -> List[int]:
        """Tokens of the conversation, up to where the assistant begins to speak. What messages contain is never taken
        for special tokens."""
        if self.default_system is not None and (not messages or messages[0].role != "system"):
            messages = [Message("system", self.default_system), *messages]
        tokens: List[int] = []
        for role, content in messages:
            tokens += [self._start, *self.tokenizer.encode(f"{role}\n{content}"), self._end, *self.tokenizer.encode("\n")]
        return tokens + [self._start, *self.tokenizer.encode("assistant\n")]

    @property
    def stop_tokens(self) -> Tuple[int, ...]:
        """What ends an answer: the end of its message, or of the text."""
        others = (self.tokenizer.special[name] for name in ("<|endoftext|>",) if name in self.tokenizer.special)
        return (self._end, *others)


def load(folder: Union[str, pathlib.Path]) -> Chat:
    """The conversation format of a model's folder, from tokenizer.json and tokenizer_config.json."""
    folder = pathlib.Path(folder)
    path = folder / "tokenizer_config.json"
    content = tokenizers.read_json(path)
    template = content.get("chat_template") if isinstance(content, dict) else None
    if not isinstance(template, str) or START not in template or END not in template:
        raise HealError(f"{path}: its chat_template is not ChatML, the one that is implemented")
    system = _SYSTEM.search(template)
    return Chat(tokenizers.load(folder), system.group(1) if system else None)
