package adroit_test

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

// The package of tools of the examples passes the kit for such packages.
func TestToolsOfExamples(t *testing.T) {
	toolstest.Check(t, shopTools("http://shop.example")...)
}
