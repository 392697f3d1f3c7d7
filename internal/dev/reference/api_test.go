package reference

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/api"
)

// TestAPI keeps docs/api.md current: the table of routes.
func TestAPI(t *testing.T) { hold(t, "api.md", api.Reference()) }
