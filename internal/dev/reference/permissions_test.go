package reference

import (
	"os"
	"testing"
)

// TestPermissions compares docs/permissions.md with the list that decides.
func TestPermissions(t *testing.T) {
	list, err := os.ReadFile("../../../pkg/guard/permit/options.txt")
	if err != nil {
		t.Fatal(err)
	}
	hold(t, "permissions.md", "```text\n"+string(list)+"```\n")
}
