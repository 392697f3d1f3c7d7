package tinymodel

import (
	_ "embed"
	"slices"
	"strings"
)

// A Vocabulary lists words that are one token each, besides the bytes and the special tokens. The
// time to read a prompt grows with the square of its tokens, and a prompt in Words has half as
// many as in bytes.
//
// Two words of the same length must not overlap: the server looks for the longest first, and for
// words of one length in an order of its own.
type Vocabulary []string

//go:embed words.txt
var words string

// Words are the most frequent words of prompts and schemas of tools.
var Words = Vocabulary(strings.Split(strings.TrimSuffix(words, "\n"), "\n"))

// Tokens returns the number of tokens of s: one for each special token or word, the longest first,
// and one for each byte between them.
func (v Vocabulary) Tokens(s string) int {
	special := slices.Concat(control, tags, v)
	slices.SortStableFunc(special, func(a, b string) int { return len(b) - len(a) })
	n, rest := 0, []string{s}
	for _, token := range special {
		var between []string
		for _, s := range rest {
			parts := strings.Split(s, token)
			n += len(parts) - 1
			between = append(between, parts...)
		}
		rest = between
	}
	for _, s := range rest {
		n += len(s)
	}
	return n
}

// Special tokens: the first ones end or shape text and come out of it only
// when scripted, the others are ordinary text that happens to be one token.
var (
	control = []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>", "<|begin|>"}
	tags    = []string{"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>", "<tools>", "</tools>"}
)
