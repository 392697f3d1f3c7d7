package calendar

import (
	"time"

	"github.com/adroit-run/adroit/internal/tools/internal/fetch"
)

// A Config is what the operator sets up for the tool. Its zero value is
// ready: then models give the addresses of calendars.
type Config struct {
	Calendars map[string]Source // by the name that models use
	// Cache is a directory for answers that servers let us ask about again at
	// little cost. Empty keeps none.
	Cache string
	// Getenv gives the values of variables that hold passwords; nil is os.Getenv.
	Getenv func(string) string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// A Source is a calendar: an iCalendar file at a URL, or a CalDAV collection.
type Source struct {
	URL    string
	CalDAV bool
	User   string
	KeyEnv string // the variable that holds the password; the file never does
}

// A calendars reads the calendars that are configured. It is safe for
// concurrent use.
type calendars struct {
	Config
	cache *fetch.Cache
}
