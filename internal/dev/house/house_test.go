package main

import "testing"

// The bounds of ADR 143: a house that somebody can keep in the head.
const (
	mostPackages = 100
	mostSingle   = 8 // packages of one file
	mostFiles    = 700
)

// TestHouse fails where the product has more packages or files than somebody can hold
// in the head, two of one name, or rooms in a circle.
func TestHouse(t *testing.T) {
	t.Chdir("../../..")
	h, err := read(".")
	if err != nil {
		t.Fatal(err)
	}
	c := h.count()
	if c.packages < 50 || len(c.lengths) < 400 {
		t.Fatalf("%d packages, %d files: is this the repository?", c.packages, len(c.lengths))
	}
	if c.packages > mostPackages || c.single > mostSingle {
		t.Errorf("%d packages, %d of one file; at most %d and %d: put what is new where its user is", c.packages, c.single, mostPackages, mostSingle)
	}
	if n := len(c.lengths); n > mostFiles {
		t.Errorf("%d files, at most %d: what is about one thing lies in one file", n, mostFiles)
	}
	if c.shared > 0 || len(h.circles()) > 0 {
		t.Errorf("%d names are borne by several packages, and rooms stand in circles: %v", c.shared, h.circles())
	}
}
