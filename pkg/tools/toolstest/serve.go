package toolstest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Serve runs h on loopback. It returns its address and an Env with an empty
// workspace, whose client is the guarded one with only that address allowed.
func Serve(t testing.TB, h http.HandlerFunc) (string, *tools.Env) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	files, err := workspace.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return s.URL, &tools.Env{Files: files, HTTP: netguard.Guard{Allow: []string{u.Host}, MaxBody: 8 << 20, Timeout: 30 * time.Second}.Client()}
}
