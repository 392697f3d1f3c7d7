package adroit_test

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/adroit/adroittest"
)

func TestRuntimeIsAClient(t *testing.T) {
	adroittest.Test(t, func(_ *testing.T, rt *adroit.Runtime) adroit.Client { return rt })
}
