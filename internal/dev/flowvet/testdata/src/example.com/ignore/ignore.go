package ignore

import (
	"time"

	"github.com/adroit-run/adroit/pkg/flow"
)

func workflow(r *flow.Run) {
	_ = time.Now() //flowvet:ignore it is for the log alone
	_ = time.Now() /* want `time.Now in workflow code` `say why: //flowvet:ignore is followed by the reason` */ //flowvet:ignore
	_ = len("x")   /* want `//flowvet:ignore has nothing to ignore in this line: remove it` */                  //flowvet:ignore left over
	_ = time.Now() // want `time.Now in workflow code`
	//flowvet:ignored is another word
	helper() //flowvet:ignore it is only called by us in tests
}

func helper() { _ = time.Now() }
