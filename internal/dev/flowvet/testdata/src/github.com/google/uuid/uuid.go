// Package uuid stands for the real one.
package uuid

type UUID [16]byte

func (u UUID) String() string { return "" }

func New() UUID                         { return UUID{} }
func NewString() string                 { return "" }
func NewSHA1(space UUID, b []byte) UUID { return UUID{} }
func Parse(s string) (UUID, error)      { return UUID{}, nil }
