"""Writes a llama model of half a megabyte with random weights, the same bytes every time.

It knows nothing. Its weights are pushed just so far that what it says is printable and that strings come to an end, so a
server that makes it obey a JSON Schema gets valid JSON out of it in a tenth of a second.

Usage: tiny_model.py FILE
"""

import sys

import gguf
import numpy as np

SEED = 1
WIDTH, LAYERS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 8192
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# A few merges, so that words are not always read byte by byte.
MERGES = ["d i", "di f", "dif f", "diff s", "p a", "pa t", "pat h"]
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# The dimension that has the same value for all tokens: weights on it favour or forbid a token wherever it stands.
CONSTANT = 0


def letters():
    """The letter that stands for each byte in vocabularies of GPT-2: itself if it can be seen, else one from 256 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(256) if byte not in seen]
    codes = {byte: byte for byte in seen} | {byte: 256 + n for n, byte in enumerate(unseen)}
    return [chr(codes[byte]) for byte in range(256)]


def vocabulary():
    """All tokens, and their types."""
    words = letters() + [merge.replace(" ", "") for merge in MERGES]
    types = [gguf.TokenType.CONTROL] * len(CONTROL) + [gguf.TokenType.NORMAL] * len(words)
    return CONTROL + words, types


def output(random, tokens):
    """How probable each token is: no control characters, nothing beyond ASCII, and quotes rather often."""
    weights = random.standard_normal((len(tokens), WIDTH)) * 0.3
    weights[:, CONSTANT] = 0
    for byte in range(256):
        if byte < 0x20 or byte >= 0x80:
            weights[len(CONTROL) + byte, CONSTANT] = -8
    weights[len(CONTROL) + ord('"'), CONSTANT] = 1
    weights[[tokens.index("<|endoftext|>"), tokens.index("<|im_start|>")], CONSTANT] = -8
    return weights


def tensors(tokens):
    """Every tensor by its name."""
    random = np.random.default_rng(SEED)
    embedding = random.standard_normal((len(tokens), WIDTH))
    embedding[:, CONSTANT] = 6
    yield "token_embd.weight", embedding
    yield "output_norm.weight", np.ones(WIDTH)
    yield "output.weight", output(random, tokens)
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", np.ones(WIDTH)
        shapes = {f"attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        shapes |= {"ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER)}
        for name, shape in shapes.items():
            yield f"blk.{layer}.{name}.weight", random.standard_normal(shape) * 0.08


def main(path):
    tokens, types = vocabulary()
    model = gguf.GGUFWriter(path, "llama")
    model.add_name("tiny-random")
    model.add_description("random weights, for tests of the protocol")
    model.add_license("CC0-1.0")
    model.add_file_type(gguf.LlamaFileType.ALL_F32)
    model.add_context_length(CONTEXT)
    model.add_embedding_length(WIDTH)
    model.add_block_count(LAYERS)
    model.add_feed_forward_length(INNER)
    model.add_head_count(HEADS)
    model.add_head_count_kv(HEADS)
    model.add_rope_dimension_count(WIDTH // HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_vocab_size(len(tokens))
    model.add_tokenizer_model("gpt2")
    model.add_tokenizer_pre("gpt-2")
    model.add_token_list(tokens)
    model.add_token_types(types)
    model.add_token_merges(MERGES)
    model.add_bos_token_id(tokens.index("<|im_start|>"))
    model.add_eos_token_id(tokens.index("<|im_end|>"))
    model.add_pad_token_id(tokens.index("<|endoftext|>"))
    model.add_add_bos_token(False)
    model.add_chat_template(TEMPLATE)
    for name, values in tensors(tokens):
        model.add_tensor(name, values.astype(np.float32))
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


if __name__ == "__main__":
    main(sys.argv[1])
