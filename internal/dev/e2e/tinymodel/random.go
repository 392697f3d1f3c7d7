package tinymodel

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Random returns a model, of 240 KB, whose weights are noise of a seed: its output has no sense,
// so that grammars and readers are tested on text that no sensible model would write. It is made
// for a context of so many tokens.
func Random(seed uint64, context int) []byte {
	const dim, heads, layers, hidden = 64, 2, 2, 128
	r := rand.New(rand.NewPCG(seed, 7))
	texts, types := vocabulary()
	noise := func(width float64) func(int, int) float32 {
		return func(int, int) float32 { return float32(r.NormFloat64() * width) }
	}
	narrow := 1 / math.Sqrt(dim)
	n := &net{}
	n.matrix("token_embd.weight", dim, len(texts), noise(1))
	n.onesOf("output_norm.weight", dim)
	n.matrix("output.weight", dim, len(texts), noise(3*narrow))
	for l := range layers {
		block := fmt.Sprintf("blk.%d.", l)
		n.onesOf(block+"attn_norm.weight", dim)
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			n.matrix(block+name+".weight", dim, dim, noise(narrow))
		}
		n.onesOf(block+"ffn_norm.weight", dim)
		n.matrix(block+"ffn_gate.weight", dim, hidden, noise(narrow))
		n.matrix(block+"ffn_up.weight", dim, hidden, noise(narrow))
		n.matrix(block+"ffn_down.weight", hidden, dim, noise(narrow))
	}
	return n.file("random", texts, types, shape{context: context, dim: dim, layers: layers, heads: heads, hidden: hidden, base: 10000})
}
