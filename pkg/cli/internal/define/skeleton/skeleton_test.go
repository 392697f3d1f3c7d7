package skeleton

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestTool(t *testing.T) { toolstest.Check(t, Tool) }
