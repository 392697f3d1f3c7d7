package test

import (
	"os"
	"testing"
)

// TestMain clears the flags of who runs the tests: -trimpath, for one, changes
// the paths that go test prints.
func TestMain(m *testing.M) {
	os.Setenv("GOFLAGS", "")
	os.Exit(m.Run())
}
