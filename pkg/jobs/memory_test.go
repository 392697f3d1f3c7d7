package jobs_test

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/jobstest"
)

func memory(testing.TB) jobs.Store { return new(jobs.Memory) }

func TestMemory(t *testing.T) { jobstest.Store(t, memory) }

func TestManager(t *testing.T) { jobstest.Manager(t, memory) }
