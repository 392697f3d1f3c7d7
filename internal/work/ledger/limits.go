package ledger

// MaxKeep bounds the content kept for one file. A larger one is not changed by
// the file tools, and a command's change to it cannot be undone.
const MaxKeep = 256 << 20

// maxShadow bounds what a ledger keeps beyond the files' original content, in
// bytes.
const maxShadow = 2 << 30

// MaxDiff is the largest content that is compared line by line, in bytes.
const MaxDiff = 4 << 20
