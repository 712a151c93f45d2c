"""samebits.heal: tokenizer, chat format, questions and prompt files.

Goldens: the package tokenizers 0.23.3 (an independent implementation, in Rust) cut these texts the same way and, with
the converted SmolLM2-135M-Instruct, gave the same tokens; so it did for all of 25,000 random
texts of letters, digits, white space, marks and symbols of all planes that the vocabulary can spell."""

import collections
import json
import pathlib
import random

import pytest

import heal_files
from samebits.heal import HealError, chat, convert, prepare, questions, tokenizer

CUTS = [
    ("Hello world", ["Hello", " world"]),
    ("  two  spaces, then 1,234.5%",
     [" ", " two", " ", " spaces", ",", " then", " ", "1", ",", "2", "3", "4", ".", "5", "%"]),
    ("I'm sure they'll say we've won; it's 'RE",
     ["I", "'m", " sure", " they", "'ll", " say", " we", "'ve", " won", ";", " it", "'s", " '", "RE"]),
    ("tab\tand\n\nlines \n end ", ["tab", "\t", "and", "\n", "\n", "lines", " \n", " end", " "]),
    ("\xbd cup of caf\xe9, na\xefve \u2167", ["\xbd", " cup", " of", " caf\xe9", ",", " na\xefve", " ", "\u2167"]),
    ("\u4e2d\u6587\u548c mixed\u65e5\u672c\u8a9e", ["\u4e2d\u6587\u548c", " mixed\u65e5\u672c\u8a9e"]),
    ("\xa0nbsp\u3000wide\x1cfs\x85nel", ["\xa0", "nbsp", "\u3000", "wide", "\x1c", "fs", "\x85", "nel"]),
    ("e\u0301 \U0001f642\U0001f642 _snake_case--x",
     ["e", "\u0301", " \U0001f642\U0001f642", " _", "snake", "_", "case", "--", "x"]),
    ("a  1  b", ["a", "  ", "1", " ", " b"]),
    (" ", [" "]),
    ("", []),
]
SMOLLM2 = [
    ("Hello world", [19556, 905]),
    ("Patient's lactate: 5.2 mmol/L, pH 7.08",
     [37654, 506, 14536, 368, 42, 216, 37, 30, 34, 7610, 308, 31, 60, 28, 10058, 216, 39, 30, 32, 40]),
    ("def f(x):\n    return x + 1", [1604, 275, 24, 104, 727, 472, 1003, 1792, 1232, 216, 33]),
    ("na\xefve caf\xe9 \u4e2d\u6587 \U0001f642", [3546, 46494, 37366, 216, 28589, 29184, 47526]),
    ("The answer is (B) 70,000.", [504, 2988, 314, 365, 50, 25, 216, 39, 32, 28, 32, 32, 32, 30]),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heal")
    (folder / "model.gguf").write_bytes(heal_files.gguf_bytes())
    convert.convert(folder / "model.gguf", folder / "tiny")
    return folder / "tiny"


@pytest.mark.parametrize("text, cut", CUTS)
def test_text_is_cut_as_the_model_expects(text, cut):
    assert [piece for segment in tokenizer._segments(text) for piece in tokenizer._pieces(segment)] == cut


def test_pieces_are_merged_by_rank(model):
    coder = tokenizer.load(model)
    ids = {token: index for index, token in enumerate(heal_files.TOKENS)}
    cases = {"hello": ["hello"], "hell": ["hell"], "hel": ["he", "l"], " the thin": ["\u0120t", "he", "\u0120th", "i", "n"],
             "lll": ["ll", "l"], "this": ["t", "h", "is"], "12": ["1", "2"], "\u00e9": ["\u00c3", "\u00a9"]}
    for text, expected in cases.items():
        assert coder.encode(text) == [ids[token] for token in expected], text


def test_any_text_comes_back(model):
    coder = tokenizer.load(model)
    rng = random.Random(11)
    print("seed 11")
    for _ in range(300):
        text = "".join(chr(rng.choice([rng.randint(0, 0x2FF), rng.randint(0x300, 0xD7FF), rng.randint(0x10000, 0x1FFFF)]))
                       for _ in range(rng.randint(0, 20)))
        assert coder.decode(coder.encode(text)) == text
    assert coder.decode_bytes(coder.encode("\u00e9")[:1]) == b"\xc3"
    assert coder.decode(coder.encode("\u00e9")[:1]) == "\ufffd"


def test_names_of_special_tokens_in_text_are_text(model):
    coder = tokenizer.load(model)
    tokens = coder.encode("a<|im_end|>b")
    assert min(tokens) >= len(heal_files.SPECIAL) and coder.decode(tokens) == "a<|im_end|>b"
    assert coder.decode([2, *tokens[:1]]) == "a" and coder.decode([2, *tokens[:1]], keep_special=True) == "<|im_end|>a"


def test_conversations_follow_the_template(model):
    conversation = chat.load(model)
    decode = conversation.tokenizer.decode
    assert decode(conversation.encode([chat.Message("user", "hello")]), True) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n")
    assert decode(conversation.encode([chat.Message("system", "x"), chat.Message("user", "y")]), True) == (
        "<|im_start|>system\nx<|im_end|>\n<|im_start|>user\ny<|im_end|>\n<|im_start|>assistant\n")
    assert conversation.encode([chat.Message("user", "<|im_end|>")]).count(2) == 2  # those of the two messages
    assert conversation.stop_tokens == (2, 0)


@pytest.mark.parametrize("file, change, message", [
    ("tokenizer.json", lambda c: c["model"].update(type="Unigram"), "only byte-level BPE"),
    ("tokenizer.json", lambda c: c.update(pre_tokenizer={"type": "Metaspace"}), "its pre_tokenizer"),
    ("tokenizer.json", lambda c: c.pop("model"), "is no tokenizer.json"),
    ("tokenizer.json", lambda c: c["model"]["vocab"].update({"\u4e2d": 3}), "is not spelt in bytes"),
    ("tokenizer.json", lambda c: c.update(added_tokens=c["added_tokens"][:1]), "<|im_start|> and <|im_end|>"),
    ("tokenizer_config.json", lambda c: c.update(chat_template="[INST]"), "is not ChatML"),
])
def test_other_tokenizers_are_refused(model, tmp_path, file, change, message):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        content = json.loads((model / name).read_text(encoding="utf-8"))
        if name == file:
            change(content)
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(HealError) as raised:
        chat.load(tmp_path)
    assert message in str(raised.value)


@pytest.mark.parametrize("text, tokens", SMOLLM2)
def test_tokens_of_smollm2(text, tokens):
    """With the part of its vocabulary whose tokens occur in these texts; no other can take part in encoding them."""
    part = json.loads((pathlib.Path(__file__).parent / "smollm2_tokens.json").read_text())
    coder = tokenizer.Tokenizer(part["tokens"], [tuple(merge.split(" ")) for merge in part["merges"]], {}, True)
    assert coder.encode(text) == tokens and coder.decode(tokens) == text


def test_builtin_questions_are_what_they_should_be():
    asked = questions.load()
    assert collections.Counter(q.domain for q in asked) == {"medical": 45, "legal": 32, "finance": 23}
    uses = collections.defaultdict(collections.Counter)
    for question in asked:
        uses[question.domain][question.use_case] += 1
    assert {domain: len(cases) for domain, cases in uses.items()} == {"medical": 9, "legal": 6, "finance": 5}
    assert min(count for cases in uses.values() for count in cases.values()) >= 4
    assert len({q.prompt for q in asked}) == len({q.id for q in asked}) == 100
    assert all(20 <= count <= 30 for count in collections.Counter(q.answer for q in asked).values())
    for question in asked:
        assert len(question.prompt) > 150 and len({c.lower() for c in question.choices.values()}) == 4, question.id
        assert all(text == text.strip() and text.isascii() for text in (question.prompt, *question.choices.values()))


GOOD = {"id": "q", "domain": "d", "use_case": "u", "prompt": "p", "choices": ["w", "x", "y", "z"], "answer_format": "f"}


@pytest.mark.parametrize("change, message", [
    ({"id": ""}, 'line 2: "id" is missing'), ({"prompt": 3}, '"prompt" is missing, empty or no string'),
    ({"choices": ["a", "b", "c"]}, '"choices" are not four'), ({"choices": ["a", "b", "c", "a"]}, "two that are the same"),
    ({"choices": {"A": "a", "B": "b", "C": "c", "E": "d"}}, '"choices" are not four'), ({"answer": "E"}, '"answer" is'),
    ({"answer": ""}, '"answer" is'), ({"id": "first"}, '"id" is that of an earlier line: first'),
])
def test_questions_outside_the_schema_are_refused(tmp_path, change, message):
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps({**GOOD, "id": "first"}) + "\n" + json.dumps({**GOOD, **change}) + "\n")
    with pytest.raises(HealError) as raised:
        questions.load(path)
    assert message in str(raised.value) and "questions.jsonl" in str(raised.value)


@pytest.mark.parametrize("text", ["", "\n", "[1]\n", "{\n", "\xff", "[" * 100000])
def test_files_that_are_no_questions_are_refused(tmp_path, text):
    (tmp_path / "questions.jsonl").write_bytes(text.encode("latin-1"))
    with pytest.raises(HealError):
        questions.load(tmp_path / "questions.jsonl")


@pytest.mark.parametrize("style", prepare.STYLES)
def test_prompt_file(model, tmp_path, style, capsys):
    output = tmp_path / "prompts.jsonl"
    assert prepare.main(["--model", str(model), "--output", str(output), "--style", style]) == 0
    assert "100 prompts" in capsys.readouterr().out
    header, *lines = [json.loads(line) for line in output.read_text(encoding="ascii").split("\n") if line]
    coder = tokenizer.load(model)
    assert header["format"] == "samebits-prompts/1" and header["stop_tokens"] == [2, 0] and header["model"] == "tiny"
    assert [text.encode("latin-1") for text in header["vocabulary"]] == [
        b"" if index < 3 else token for index, token in enumerate(coder.token_bytes)]
    for line, question in zip(lines, questions.load()):
        assert {key: line[key] for key in question._fields} == question._asdict()
        assert coder.decode(line["tokens"], True) == (
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n" + prepare.prompt_text(question, style) +
            "<|im_end|>\n<|im_start|>assistant\n")
        assert all(text in prepare.prompt_text(question, style) for text in (question.prompt, *question.choices.values()))
    assert len(lines) == 100 and not list(tmp_path.glob("*.part"))


def test_preparing_says_what_is_wrong(model, tmp_path, capsys):
    def fails(message, **changed):
        options = {"model": model, "output": tmp_path / "out.jsonl", **changed}
        assert prepare.main([part for name, value in options.items() for part in (f"--{name}", str(value))]) == 1
        assert message in capsys.readouterr().err

    fails("tokenizer_config.json cannot be read", model=tmp_path / "none")
    fails("cannot be read", questions=tmp_path / "none.jsonl")
    fails("cannot be written", output=tmp_path / "none" / "out.jsonl")
