package research

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/tools/toolstest"
)

func TestConforms(t *testing.T) { toolstest.Check(t, Tools(Config{})...) }
