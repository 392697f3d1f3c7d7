package sqlite

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/jobstest"
)

func TestStoreSuite(t *testing.T) {
	jobstest.Store(t, func(t testing.TB) jobs.Store { return fresh(t) })
}

func TestManagerSuite(t *testing.T) {
	jobstest.Manager(t, func(t testing.TB) jobs.Store { return fresh(t) })
}
