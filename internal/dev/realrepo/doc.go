// Package realrepo proves adroit on code that others wrote: real projects of
// different size and language, fetched the way their ecosystem does it, are
// searched (with ripgrep as the judge), edited and tested by a job that the
// command line runs, and put back byte for byte by undo.
//
//	go test ./internal/dev/realrepo
//
// It has only tests. What cannot be fetched is said and skipped, and fails
// where the variable CI is set.
package realrepo
