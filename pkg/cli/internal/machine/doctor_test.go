package machine

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
)

func TestText(t *testing.T) {
	var b strings.Builder
	text(&b, []adroit.Finding{
		{Name: "git", Status: adroit.Fine, What: "git version 2"},
		{Name: "sandbox", Status: adroit.Broken, What: "refused", Do: "install it"},
	})
	if want := "no job can run: sandbox: refused\nnext: install it\n\nbroken  sandbox  refused; install it\nfine    git      git version 2\n"; b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
