"""Data for the numerics jobs of language models: a model to try them on, its tokenizer, and questions.

    python -m samebits.heal.fetch_model FOLDER
    python -m samebits.heal.prepare --model FOLDER --output prompts.jsonl
"""

from samebits.heal.errors import HealError

__all__ = ["HealError"]
