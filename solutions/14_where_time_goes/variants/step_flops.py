"""Right answers to `step_flops`, and mistakes that people make."""

ANSWERS = """
== by_product
def step_flops(layers, width, hidden, vocabulary, sequences, length):
    tokens = sequences * length
    products = 4 * layers * [(tokens, width, width)] + layers * [(tokens, width, hidden), (tokens, hidden, width)]
    products.append((tokens, width, vocabulary))
    weights = sum(2 * rows * inner * columns for rows, inner, columns in products)
    of_a_sequence = 2 * length * width * length + 2 * length * length * width
    return {"weights": 3 * weights, "attention": 3 * layers * sequences * of_a_sequence}
== counted_by_pytorch
import torch
from torch.utils.flop_counter import FlopCounterMode
def step_flops(layers, width, hidden, vocabulary, sequences, length):
    def meta(*shape):
        return torch.empty(*shape, device="meta", requires_grad=True)
    matrices = [(width, width)] * 4 * layers + [(width, hidden), (hidden, width)] * layers + [(width, vocabulary)]
    with FlopCounterMode(display=False) as weights:
        for matrix in matrices:
            (meta(sequences * length, matrix[0]) @ meta(*matrix)).sum().backward()
    with FlopCounterMode(display=False) as attention:
        for _ in range(layers):
            (meta(sequences, length, width) @ meta(sequences, width, length)).sum().backward()
            (meta(sequences, length, length) @ meta(sequences, length, width)).sum().backward()
    return {"weights": weights.get_total_flops(), "attention": attention.get_total_flops()}
== per_token
def step_flops(layers, width, hidden, vocabulary, sequences, length):
    parameters = layers * width * (4 * width + 2 * hidden) + width * vocabulary
    tokens = sequences * length
    return {"weights": 6.0 * parameters * tokens, "attention": 12.0 * layers * width * length * tokens}
== multiply_adds: multiply-adds-counted-once, mac < per_token
6.0 >>> 3
12.0 >>> 6
== attention_multiply_adds: half-of-the-attention, mac < per_token
12.0 >>> 6
== forward: forward-pass-alone, forward < per_token
6.0 >>> 2
12.0 >>> 4
== forward_twice: backward-like-forward, backward < per_token
6.0 >>> 4
12.0 >>> 8
== with_embedding: embedding-counted, look-up < per_token
2 * hidden) + width >>> 2 * hidden) + 2 * width
== layers_alone: head-left-out, head < per_token
2 * hidden) + width * vocabulary >>> 2 * hidden)
== three_matrices: no-output-matrix, formula < per_token
4 * width + >>> 3 * width +
== one_matrix: one-matrix-in-the-mlp, formula < per_token
2 * hidden >>> hidden
== twelve_squares: hidden-taken-for-four-widths, formula < per_token
layers * width * (4 * width + 2 * hidden) >>> 12 * layers * width**2
== of_one_token: one-token, formula < per_token
    tokens = sequences * length >>>     tokens = 1
== of_one_sequence: one-sequence, formula < per_token
    tokens = sequences * length >>>     tokens = length
== causal: half-of-the-attention, causal < per_token
12.0 >>> 6
== scores_alone: half-of-the-attention, formula < per_token
12.0 >>> 6.0
== attention_forward: forward-pass-alone, forward < per_token
12.0 >>> 4
== attention_forward_twice: backward-like-forward, backward < per_token
12.0 >>> 8
== not_quadratic: each-token-once, attention < per_token
width * length * tokens >>> width * tokens
== over_the_batch: attends-to-other-sequences, attention < per_token
width * length * tokens >>> width * tokens * tokens
== attention_of_one_layer: one-layer, attention < per_token
12.0 * layers * >>> 12.0 *
== attention_of_one_sequence: one-sequence, attention < per_token
width * length * tokens >>> width * length * length
== no_attention: attention-left-out, attention < per_token
12.0 * layers >>> 0 * layers
== matrices_of_one_layer: one-layer, formula < per_token
parameters = layers * width >>> parameters = width
== causal_pairs: masked-scores-left-out, causal < per_token
width * length * tokens >>> width * (length + 1) / 2 * tokens
== causal_pairs_forward: masked-scores-left-out, causal < per_token
12.0 >>> 4.0
width * length * tokens >>> width * (length + 1) / 2 * tokens
== swapped: sequences-taken-for-tokens, attention < per_token
width * length * tokens >>> width * sequences * tokens
== a_sum: not-all-numbers, formula < per_token
    return {"weights": 6.0 * parameters * tokens, "attention": 12.0 * layers * width * length * tokens} >>>     return 6.0 * parameters * tokens + 12.0 * layers * width * length * tokens
== head_in_each_layer: head-in-each-layer, blind < per_token
    parameters = layers * width * (4 * width + 2 * hidden) + width * vocabulary >>>     parameters = layers * (width * (4 * width + 2 * hidden) + width * vocabulary)
== names_swapped: parts-swapped, blind < per_token
"weights": 6.0 >>> "attention": 6.0
"attention": 12.0 >>> "weights": 12.0
"""
