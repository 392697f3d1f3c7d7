package flow

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Compare orders paths of steps as the steps begin: 1.9 is before 1.10, and 1 before
// 1.0.
func Compare(p, q string) int {
	for p != "" && q != "" {
		var x, y string
		x, p, _ = strings.Cut(p, ".")
		y, q, _ = strings.Cut(q, ".")
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		if c := cmp.Compare(m, n); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(p), len(q))
}

// Digest names content: the SHA-256 of b in hexadecimal.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}
