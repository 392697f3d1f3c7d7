package triggers

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"crypto/x509"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// mailServer takes one mail, and returns what it was sent after STARTTLS.
func mailServer(t *testing.T, conf *tls.Config) (address string, got chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	got = make(chan string, 1)
	go func() { // until the client leaves
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		c := textproto.NewConn(conn)
		_ = c.PrintfLine("220 here")
		var log strings.Builder
		defer func() { got <- log.String() }()
		for {
			line, err := c.ReadLine()
			if err != nil {
				return
			}
			log.WriteString(line + "\n")
			switch verb, _, _ := strings.Cut(line, " "); verb {
			case "EHLO":
				if conf != nil {
					_ = c.PrintfLine("250-here")
					_ = c.PrintfLine("250-STARTTLS")
				}
				_ = c.PrintfLine("250 AUTH PLAIN")
			case "STARTTLS":
				_ = c.PrintfLine("220 go")
				c = textproto.NewConn(tls.Server(conn, conf))
				log.Reset()
			case "AUTH":
				_ = c.PrintfLine("235 fine")
			case "DATA":
				_ = c.PrintfLine("354 go")
				b, _ := c.ReadDotBytes() // what is missing is seen below
				log.Write(b)
				_ = c.PrintfLine("250 taken")
			case "QUIT":
				_ = c.PrintfLine("221 bye")
				return
			default:
				_ = c.PrintfLine("250 fine")
			}
		}
	}()
	return l.Addr().String(), got
}

func TestMail(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.StartTLS() // for its certificate, which is of 127.0.0.1
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	address, got := mailServer(t, &tls.Config{Certificates: s.TLS.Certificates})
	m := Mail{To: []string{"me@example.com"}, From: "adroit@example.com", Server: address, User: "me", PasswordEnv: "P"}
	msg := &message{ID: "msg_1", Items: []item{{Job: "J1", Of: "done", Status: jobs.Done, Title: "ends\r\nBcc: all@example.com"}}}
	if err := m.send(t.Context(), msg, "sesame", time.Unix(1_800_000_000, 0), roots); err != nil {
		t.Fatal(err)
	}
	log := <-got
	head, body, _ := strings.Cut(log, "\n\n")
	r := textproto.NewReader(bufio.NewReader(strings.NewReader(head[strings.Index(head, "From:"):] + "\n\n")))
	h, err := r.ReadMIMEHeader()
	if err != nil {
		t.Fatal(err)
	}
	text, _ := base64.StdEncoding.DecodeString(strings.ReplaceAll(strings.TrimSpace(body[:strings.Index(body, "QUIT")]), "\n", ""))
	if h.Get("Bcc") != "" || h.Get("Message-Id") != "<msg_1@example.com>" || !strings.Contains(string(text), "jobs show J1") ||
		!strings.Contains(log, "AUTH PLAIN "+base64.StdEncoding.EncodeToString([]byte("\x00me\x00sesame"))) {
		t.Errorf("%s\n%s", log, text)
	}
	// No certificate that is trusted, no mail.
	address, _ = mailServer(t, &tls.Config{Certificates: s.TLS.Certificates})
	m.Server = address
	if err := m.send(t.Context(), msg, "sesame", time.Now(), nil); err == nil {
		t.Error("a mail was sent to who cannot show who it is")
	}
	// A password that is not set, no mail.
	address, _ = mailServer(t, nil)
	m.Server = address
	if err := m.send(t.Context(), msg, "", time.Now(), nil); err == nil || !strings.Contains(err.Error(), "P, which has the password") {
		t.Errorf("without the password: %v", err)
	}
}

// standing is a client of one job.
type standing struct {
	adroit.Client
	status jobs.Status
}

func (s *standing) Job(_ context.Context, id string) (*adroit.JobDetail, error) {
	return &adroit.JobDetail{Job: &jobs.Job{ID: id, Status: s.status}}, nil
}

// A message waits for the end of quiet hours and of its interval, is tried again later and later, and is
// given up by name; what no longer waits is left out.
func TestNotices(t *testing.T) {
	now := time.Date(2026, 11, 28, 21, 30, 0, 0, time.UTC)
	var log []string
	c := &standing{status: jobs.Waiting}
	e := New(Options{Client: c, Data: t.TempDir(), Now: func() time.Time { return now }, Notices: Notices{"me": {Of: []string{"waiting", "failed"}, Quiet: "22:00-07:00", TimeZone: "UTC", Digest: time.Hour}},
		Log: func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }})
	s, err := readState(e.o.Data)
	if err != nil {
		t.Fatal(err)
	}
	e.s = s
	see := func(kind event.Kind, id string, status jobs.Status) bool {
		data := fmt.Sprintf(`{"status":%q}`, status)
		return e.notify(event.Event{Kind: kind, Time: now, Data: []byte(data)}, &jobs.Job{ID: id, Status: status})
	}
	if !see(event.JobFinished, "J1", jobs.Failed) || see(event.JobFinished, "J2", jobs.Done) || see(event.JobFinished, "J3", jobs.Cancelled) || !see(event.JobWaiting, "J4", jobs.Waiting) {
		t.Fatal("the wrong events are noticed")
	}
	n := e.o.Notices["me"]
	next := func() *message { return e.next(t.Context(), "me", n) }
	if next() != nil {
		t.Error("the interval has not passed")
	}
	if now = now.Add(90 * time.Minute); next() != nil {
		t.Error("it is quiet")
	}
	c.status, now = jobs.Running, now.Add(9*time.Hour) // J4 has its answer
	m := next()
	if m == nil || len(m.Items) != 1 || m.Items[0].Job != "J1" {
		t.Fatalf("the message is %+v", m)
	}
	id := m.ID
	for range maxTries {
		if m = next(); m == nil || m.ID != id {
			t.Fatalf("tried again with %+v, not %s", m, id)
		}
		e.sent("me", errors.New("nobody is there"))
		if next() != nil && e.s.Outboxes["me"].Message != nil {
			t.Error("it is tried again at once")
		}
		now = now.Add(11 * time.Minute)
	}
	if last := log[len(log)-1]; !strings.HasPrefix(last, "notice me: given up after 8 tries") || next() != nil {
		t.Errorf("the last line is %q", last)
	}
	if s, err = readState(e.o.Data); err != nil || s.Outboxes["me"].Error != "nobody is there" {
		t.Errorf("kept: %+v, %v", s.Outboxes["me"], err)
	}
}

// TestClockSetBack checks that what was to come by a clock that was a year ahead comes when its time
// is there by the right one.
func TestClockSetBack(t *testing.T) {
	now := time.Date(2027, 11, 28, 21, 30, 10, 0, time.UTC)
	e := New(Options{Client: &standing{status: jobs.Waiting}, Data: t.TempDir(), Now: func() time.Time { return now }, Notices: Notices{"me": {Of: []string{"failed"}, Digest: time.Hour}},
		Triggers: Triggers{"hourly": {Cron: "30 * * * *", Run: "builder", Prompt: "x", Dir: "/", TimeZone: "UTC", Overlap: true}}, Log: t.Logf})
	s, err := readState(e.o.Data)
	if err != nil {
		t.Fatal(err)
	}
	e.s = s
	due := func(want int) {
		t.Helper()
		if _, err := e.due("hourly"); err != nil || len(e.s.Pending) != want {
			t.Errorf("%v, %d firings, want %d", err, len(e.s.Pending), want)
		}
	}
	e.record("hourly").Last = now.Add(-time.Hour)
	due(1)
	e.s.Pending[0].Next = now.Add(4 * time.Minute)
	e.notify(event.Event{Kind: event.JobFinished, Time: now, Data: []byte(`{"status":"failed"}`)}, &jobs.Job{ID: "J1", Status: jobs.Failed})
	now = now.AddDate(-1, 0, 0)
	due(1)
	if len(e.ready()) != 1 {
		t.Error("what was fired waits for a year")
	}
	m := e.next(t.Context(), "me", e.o.Notices["me"])
	if m == nil {
		t.Fatal("a notice waits for a year")
	}
	e.sent("me", errors.New("nobody is there"))
	now = now.Add(time.Hour)
	due(2)
	now = now.Add(-2 * time.Hour)
	if e.next(t.Context(), "me", e.o.Notices["me"]) == nil {
		t.Error("a notice is not tried again")
	}
	due(2)
	now = now.Add(2 * time.Hour)
	due(2) // what the time fired before
}

// slowly is a client of one job, which is claimed a while after it was started.
type slowly struct {
	standing
	engine string
	starts []error // what each start gives; the last one also those after it
	err    error   // of Job
	began  int
}

func (s *slowly) Job(ctx context.Context, id string) (*adroit.JobDetail, error) {
	d, _ := s.standing.Job(ctx, id)
	d.Config.Engine = s.engine
	return d, s.err
}

func (s *slowly) Start(context.Context, string, adroit.StartOptions) (*adroit.Started, error) {
	s.began++
	return &adroit.Started{}, s.starts[min(s.began, len(s.starts))-1]
}

// A job that the server before has left is active until it is known not to go on: between the start and
// the claim, while its old process is seen as alive, and while nobody answers.
func TestGoesOn(t *testing.T) {
	var c *slowly
	begun := func(with *slowly) *Engine {
		t.Helper()
		c = with
		e := New(Options{Client: c, Data: t.TempDir(), Now: time.Now, Triggers: Triggers{"a": {}}, Log: t.Logf})
		if err := e.begin(t.Context(), &state{Event: 1, Triggers: map[string]*record{"a": {Active: []activeJob{{ID: "J1"}}}}}); err != nil {
			t.Fatal(err)
		}
		return e
	}
	looks := func(e *Engine, status jobs.Status, active bool, starts int) {
		t.Helper()
		c.status = status
		e.look(t.Context())
		if got := len(e.active("a")) == 1; got != active || c.began != starts {
			t.Errorf("after %d starts of a job that is %s, active is %v, want %d and %v", c.began, status, got, starts, active)
		}
	}
	e := begun(&slowly{starts: []error{errors.New("the host does not answer"), nil, jobs.ErrHeld}})
	looks(e, jobs.Running, true, 0) // its process has just been killed
	e = begun(c)
	looks(e, jobs.Interrupted, true, 1)
	looks(e, jobs.Interrupted, true, 2) // started, and not claimed yet
	looks(e, jobs.Interrupted, true, 3)
	looks(e, jobs.Running, true, 3)
	looks(e, jobs.Interrupted, false, 3) // by a person

	e = begun(&slowly{starts: []error{nil}})
	for i := range maxTries {
		looks(e, jobs.Interrupted, true, i+1)
	}
	looks(e, jobs.Interrupted, false, maxTries)
	looks(begun(&slowly{starts: []error{problem.Invalidf("", "its agent is gone")}}), jobs.Interrupted, false, 1)
	looks(begun(&slowly{engine: "temporal"}), jobs.Interrupted, true, 0)
	looks(begun(&slowly{err: errors.New("the store is locked")}), jobs.Running, true, 0)
	looks(begun(&slowly{err: jobs.ErrNotExist}), jobs.Running, false, 0)
}
