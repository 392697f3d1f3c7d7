package permit_test

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/guard/permit"
)

func TestCheck(t *testing.T) {
	for _, r := range []permit.Rule{
		{}, {Do: "yes"}, {Do: permit.Deny, Path: "a", Command: "b"}, {Do: permit.Deny, Path: strings.Repeat("{a,b}", 20)}, {Do: permit.Allow, Path: "/etc/**"},
		{Do: permit.Allow, Path: "../x"}, {Do: permit.Allow, Command: "a && b"}, {Do: permit.Allow, Command: " "},
	} {
		if r.Check() == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
	if err := (permit.Rule{Do: permit.Allow, Tool: "shell", Command: "go test *"}).Check(); err != nil {
		t.Error(err)
	}
}
