package secret_test

import (
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/guard/secret"
)

func TestNew(t *testing.T) {
	t.Setenv("SHOP_API_TOKEN", "0aK3-of-the-environment")
	r := secret.New(nil)
	if got, hit := r.String("curl -H 0aK3-of-the-environment"); !hit || strings.Contains(got, "0aK3") {
		t.Errorf("the environment's token is not replaced: %q", got)
	}
	text := "key: ghp_0123456789abcdefghijklmnopqrstuvwx01"
	found := r.Find(text)
	if len(found) != 1 {
		t.Fatalf("found %+v, want a token", found)
	}
	if got, hit := secret.New(nil, found[0].Fingerprint).String(text); hit {
		t.Errorf("a finding that is allowed is replaced: %q", got)
	}
}
