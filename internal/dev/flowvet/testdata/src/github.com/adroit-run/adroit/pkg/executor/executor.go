// Package executor stands for the real one.
package executor

type Scope struct{}
