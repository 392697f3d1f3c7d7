package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Fingerprint names a secret without telling it: an operator can allow a
// finding by it.
func Fingerprint(value string) string {
	sum := sha256.Sum256([]byte("adroit finding\x00" + value))
	return hex.EncodeToString(sum[:8])
}

// byName is the kind of what only its name shows.
const byName = "named secret"

// maxKind is how long a kind is that Marked finds, in bytes.
const maxKind = 64

func mark(kind string) string { return "[secret: " + kind + "]" }

// Sure reports whether text holds a replacement of something that was more than named like a
// secret: what only a name shows may be a cursor or a colour.
func Sure(text string) bool {
	for {
		first, ok := Marked(text)
		if !ok || first != mark(byName) {
			return ok
		}
		_, text, _ = strings.Cut(text, first)
	}
}

// Marked reports whether text holds a replacement, and the first one: what a
// model copies from redacted text must not be written over the secret.
func Marked(text string) (string, bool) {
	for {
		_, rest, ok := strings.Cut(text, "[secret: ")
		if !ok {
			return "", false
		}
		if kind, _, closed := strings.Cut(rest, "]"); closed && len(kind) <= maxKind && !strings.ContainsAny(kind, "\n\"\\") {
			return mark(kind), true
		}
		text = rest
	}
}
