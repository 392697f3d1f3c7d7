// Package tinymodel makes a language model of 55 KB by hand whose output a test chooses: nothing
// is trained, nothing is downloaded.
//
// The model is a tape: it repeats the last [Period] tokens of its prompt. A chat template that
// ends every prompt in a script, an end token and padding makes it output the script and stop;
// [Template] writes such a template for a list of turns. Server, tokenizer, sampler, template
// engine and tool parser are the real ones, only the words are arranged.
//
//	os.WriteFile("tape.gguf", tinymodel.Tape(16384), 0o644)
//	template, err := tinymodel.Template([]tinymodel.Turn{{Say: "Hello."}})
//
// It is a fixture. It does not show how well a real model would do.
package tinymodel

import (
	"math"
	"slices"
)

// Period is the length of the tape in tokens. A script may have one less,
// and every prompt is longer by it.
const Period = 512

const (
	endOfText = 256
	endOfTurn = 258
	padding   = 259
)

// vocabulary returns the 256 bytes in GPT-2's spelling, then the special tokens and words. No two
// may have the same text, or llama.cpp crashes the server.
func vocabulary(words ...string) (texts []string, types []int32) {
	unprintable := 0
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r = rune(256 + unprintable)
			unprintable++
		}
		texts, types = append(texts, string(r)), append(types, 1)
	}
	for _, s := range control {
		texts, types = append(texts, s), append(types, 3)
	}
	for _, s := range slices.Concat(tags, words) {
		texts, types = append(texts, s), append(types, 4)
	}
	return texts, types
}

// Tokens returns the number of tokens of s: its bytes, with each special token counting as one.
func Tokens(s string) int { return Vocabulary(nil).Tokens(s) }

// Dimensions of the tape: 0 is 1 for every token, so that queries and keys
// see positions only; from bitsAt the token's number is spelled in bits of
// +1 and -1; at copyAt attention puts the bits of the token it found.
const (
	dim    = 32
	bitsAt = 1
	copyAt = 16
	bits   = 10

	sharp  = 14.0 // how strongly attention prefers the one position
	loud   = 8.0  // how much the copied bits outweigh the token's own
	steep  = 20.0 // how much the right token outweighs the others
	base   = 100  // of the rotary position encoding
	hidden = 32   // of the feed-forward part, which is zero
)

// Tape returns the model as a GGUF file, made for a context of so many
// tokens.
func Tape(context int) []byte { return Vocabulary(nil).Tape(context) }

// Tape returns the model with the words in its vocabulary.
//
// It has one attention head. Its keys are rotated ahead by Period-1 steps of the position
// encoding, so that query and key agree best at just that distance: the token found is the one
// that followed, a period ago, the latest token. The output is read from the copied bits; the
// constant dimension shifts all scores so that the winner is near 0, where a repeat penalty cannot
// touch it.
func (v Vocabulary) Tape(context int) []byte {
	texts, types := vocabulary(v...)
	n := &net{}
	bit := func(token, b int) float32 {
		if token>>b&1 == 1 {
			return 1
		}
		return -1
	}
	n.matrix("token_embd.weight", dim, len(texts), func(out, in int) float32 {
		switch {
		case in == 0:
			return 1
		case in >= bitsAt && in < bitsAt+bits:
			return bit(out, in-bitsAt)
		}
		return 0
	})
	n.ones("output_norm.weight")
	n.matrix("output.weight", dim, len(texts), func(out, in int) float32 {
		switch {
		case in == 0:
			return -steep * loud * bits
		case in >= copyAt && in < copyAt+bits:
			return steep * bit(out, in-copyAt)
		}
		return 0
	})

	// What an entry of 1 is after the norm before attention.
	unit := math.Sqrt(dim / float64(1+bits))
	angle := func(pair int) float64 { return (Period - 1) * math.Pow(base, -2*float64(pair)/dim) }
	n.ones("blk.0.attn_norm.weight")
	n.matrix("blk.0.attn_q.weight", dim, dim, func(out, in int) float32 {
		if in == 0 && out%2 == 0 {
			return float32(sharp / unit)
		}
		return 0
	})
	n.matrix("blk.0.attn_k.weight", dim, dim, func(out, in int) float32 {
		switch {
		case in != 0:
			return 0
		case out%2 == 0:
			return float32(sharp / unit * math.Cos(angle(out/2)))
		}
		return float32(sharp / unit * math.Sin(angle(out/2)))
	})
	n.matrix("blk.0.attn_v.weight", dim, dim, func(out, in int) float32 {
		if out == in && in >= bitsAt && in < bitsAt+bits {
			return float32(1 / unit)
		}
		return 0
	})
	n.matrix("blk.0.attn_output.weight", dim, dim, func(out, in int) float32 {
		if out-copyAt == in-bitsAt && in >= bitsAt && in < bitsAt+bits {
			return loud
		}
		return 0
	})
	zero := func(int, int) float32 { return 0 }
	n.ones("blk.0.ffn_norm.weight")
	n.matrix("blk.0.ffn_gate.weight", dim, hidden, zero)
	n.matrix("blk.0.ffn_up.weight", dim, hidden, zero)
	n.matrix("blk.0.ffn_down.weight", hidden, dim, zero)

	return n.file("tape", texts, types, shape{context: context, dim: dim, layers: 1, heads: 1, hidden: hidden, base: base})
}

// shape is a model's size.
type shape struct {
	context, dim, layers, heads, hidden, base int
}

// file lays the network out with its vocabulary.
func (n *net) file(name string, texts []string, types []int32, s shape) []byte {
	each := uint32(s.dim / s.heads)
	return encode([]entry{
		{"general.architecture", "llama"},
		{"general.type", "model"},
		{"general.name", name},
		{"general.file_type", uint32(1)},
		{"general.quantization_version", uint32(2)},
		{"llama.context_length", uint32(s.context)},
		{"llama.embedding_length", uint32(s.dim)},
		{"llama.block_count", uint32(s.layers)},
		{"llama.feed_forward_length", uint32(s.hidden)},
		{"llama.attention.head_count", uint32(s.heads)},
		{"llama.attention.head_count_kv", uint32(s.heads)},
		{"llama.attention.key_length", each},
		{"llama.attention.value_length", each},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-6)},
		{"llama.rope.dimension_count", each},
		{"llama.rope.freq_base", float32(s.base)},
		{"llama.vocab_size", uint32(len(texts))},
		{"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", "gpt-2"}, // which the server splits without std::regex
		{"tokenizer.ggml.tokens", texts},
		{"tokenizer.ggml.token_type", types},
		{"tokenizer.ggml.merges", []string{}},
		{"tokenizer.ggml.bos_token_id", uint32(endOfText)},
		{"tokenizer.ggml.eos_token_id", uint32(endOfTurn)},
		{"tokenizer.ggml.padding_token_id", uint32(padding)},
		{"tokenizer.ggml.add_bos_token", false},
	}, n.tensors)
}

type net struct{ tensors []tensor }

func (n *net) matrix(name string, in, out int, at func(out, in int) float32) {
	data := make([]float32, 0, in*out)
	for o := range out {
		for i := range in {
			data = append(data, at(o, i))
		}
	}
	n.tensors = append(n.tensors, tensor{name, in, out, data})
}

func (n *net) ones(name string) { n.onesOf(name, dim) }

func (n *net) onesOf(name string, dim int) {
	data := make([]float32, dim)
	for i := range data {
		data[i] = 1
	}
	n.tensors = append(n.tensors, tensor{name: name, cols: len(data), data: data})
}
