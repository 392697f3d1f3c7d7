package adroit

import "github.com/adroit-run/adroit/internal/host/doctor"

type (
	// A Finding is one thing that was looked at on a machine.
	Finding = doctor.Finding
	// A FindingStatus is how bad a finding is.
	FindingStatus = doctor.Status
	// A DoctorQuery is what Doctor looks at.
	DoctorQuery = doctor.Query
)

// Statuses of findings.
const (
	Fine    = doctor.Fine
	Lacking = doctor.Lacking // something that only some jobs need
	Broken  = doctor.Broken  // no job can run
	Note    = doctor.Note
)
