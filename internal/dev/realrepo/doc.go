// Package realrepo tests adroit on other people's code: real projects of different size and
// language, fetched as their ecosystem does, are searched (with ripgrep as the reference), edited
// and tested by a job that the command line runs, and restored byte for byte by undo.
//
//	go test ./internal/dev/realrepo
//
// It has only tests. A project that cannot be fetched is reported and skipped, and fails the test
// where the variable CI is set.
package realrepo
