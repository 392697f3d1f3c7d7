package transport

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// An Endpoint is a server and the manners to observe with it. It is safe for
// concurrent use once filled in.
type Endpoint struct {
	Name    string // for errors
	Base    string // URL without a trailing slash
	Key     string // sent as a bearer token, "" for none
	Headers map[string]string
	HTTP    *http.Client  // nil: a client of its own, with the environment's proxies
	Idle    time.Duration // the longest silence, 0: five minutes, negative: no limit
	Total   time.Duration // the longest request, 0: thirty minutes, negative: no limit
}

// Ready checks the endpoint and fills in what was left out.
func (e *Endpoint) Ready() error {
	e.Base = strings.TrimRight(e.Base, "/")
	if !strings.HasPrefix(e.Base, "http://") && !strings.HasPrefix(e.Base, "https://") {
		return fmt.Errorf("%s: base URL %q must start with http:// or https://", e.Name, e.Base)
	}
	e.Idle = cmp.Or(e.Idle, defaultIdle)
	e.Total = cmp.Or(e.Total, defaultTotal)
	client := new(http.Client)
	if e.HTTP != nil {
		*client = *e.HTTP
	} else {
		// Not the default client: a test or another library may change that.
		own := http.DefaultTransport.(*http.Transport).Clone()
		// All requests go to one host: with the default of two kept
		// connections, many agents would open a new one for each turn.
		own.MaxIdleConns, own.MaxIdleConnsPerHost = 0, 1024
		client.Transport = own
	}
	// Following a redirect would turn the POST into a GET, and a key meant
	// for one host would be asked for by another.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	e.HTTP = client
	return nil
}
