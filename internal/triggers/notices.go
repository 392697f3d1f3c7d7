package triggers

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/smtp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/hooks"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A Notice selects the receiver of notices about jobs, and when. It has one of URL, Mail and
// Command.
type Notice struct {
	Of        []string      `yaml:"of"`         // waiting, done, failed; none: all
	Agents    []string      `yaml:"agents"`     // none: all
	URL       string        `yaml:"url"`        // its path may be a secret
	SecretEnv string        `yaml:"secret_env"` // of URL: the variable with the secret that signs
	Mail      Mail          `yaml:"mail"`
	Command   []string      `yaml:"command"`
	Quiet     string        `yaml:"quiet"` // 22:00-07:00: nothing is sent meanwhile
	TimeZone  string        `yaml:"time_zone"`
	Digest    time.Duration `yaml:"digest"` // one message at most in this time
}

// Notices are notices by name.
type Notices map[string]Notice

// String lists the notices for people, with no more of an address than its host.
func (l Notices) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		n, to := l[name], "command"
		switch {
		case n.URL != "":
			to = "webhook"
			if u, err := url.Parse(n.URL); err == nil {
				to = "webhook " + u.Host
			}
		case n.Mail.set():
			to = "mail " + strings.Join(n.Mail.To, ", ")
		}
		words = append(words, strings.TrimSpace(name+": "+to+" "+strings.Join(n.Of, ", ")))
	}
	return strings.Join(words, "; ")
}

// A Mail describes how a notice is mailed.
type Mail struct {
	To          []string `yaml:"to"`
	From        string   `yaml:"from"`
	Server      string   `yaml:"server"` // host:port; 465 is TLS from the start, others must offer STARTTLS
	User        string   `yaml:"user"`
	PasswordEnv string   `yaml:"password_env"`
}

func (m Mail) set() bool { return m.Server != "" || len(m.To) > 0 || m.From != "" }

// What a notice may be of.
const (
	ofWaiting = "waiting"
	ofDone    = "done"
	ofFailed  = "failed"
)

// CheckNotices reports what is wrong with notices.
func CheckNotices(all Notices, fault Fault) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !named(name) {
			fault(fmt.Errorf("notices: the name %q is not of lower-case letters, digits, - and _, at most 40", name), example, name)
		}
		all[name].check(func(key, format string, args ...any) {
			fault(fmt.Errorf("notices.%s: %w", name, fmt.Errorf(format, args...)), example, name, key)
		})
	}
}

func (n Notice) check(fault func(key, format string, args ...any)) {
	ways := 0
	for _, has := range []bool{n.URL != "", n.Mail.set(), len(n.Command) > 0} {
		if has {
			ways++
		}
	}
	if ways != 1 {
		fault("", "it needs exactly one of url, mail and command")
	}
	for _, of := range n.Of {
		if of != ofWaiting && of != ofDone && of != ofFailed {
			fault("of", "of has %q; it is waiting, done or failed", of)
		}
	}
	if n.URL != "" {
		if u, err := url.Parse(n.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			fault("url", "url is no address such as https://example.com/notices")
		}
		if n.SecretEnv == "" {
			fault("secret_env", "secret_env is missing; it names the variable with the secret that notices are signed with")
		}
	}
	if n.Mail.set() {
		n.Mail.check(fault)
	}
	if len(n.Command) > 0 {
		if err := n.hook("/").Check(); err != nil { // which home it is does not matter
			fault("command", "%v", err)
		}
	}
	if _, _, err := parseQuiet(n.Quiet); err != nil {
		fault("quiet", "%v", err)
	}
	if _, err := location(n.TimeZone); err != nil {
		fault("time_zone", "%v; a name is for example Europe/Berlin", err)
	}
	if n.Digest > 7*24*time.Hour {
		fault("digest", "digest is %s; it is at most a week", n.Digest)
	}
}

func (m Mail) check(fault func(key, format string, args ...any)) {
	if _, _, err := net.SplitHostPort(m.Server); err != nil {
		fault("mail", "mail.server is %q; it is host:port as in smtp.example.com:587", m.Server)
	}
	for _, a := range append(slices.Clone(m.To), m.From) {
		if !strings.Contains(a, "@") || strings.ContainsAny(a, "\r\n<> ,") {
			fault("mail", "mail has %q, which is no address such as me@example.com", a)
		}
	}
	if len(m.To) == 0 {
		fault("mail", "mail.to is missing")
	}
	if (m.User == "") != (m.PasswordEnv == "") {
		fault("mail", "mail.user and mail.password_env belong together")
	}
}

// parseQuiet reads hours such as 22:00-07:00, as minutes of the day.
func parseQuiet(text string) (from, to int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	first, last, _ := strings.Cut(text, "-")
	a, errA := time.Parse("15:04", strings.TrimSpace(first))
	b, errB := time.Parse("15:04", strings.TrimSpace(last))
	if errA != nil || errB != nil {
		return 0, 0, fmt.Errorf("quiet is %q; it is for example 22:00-07:00", text)
	}
	return a.Hour()*60 + a.Minute(), b.Hour()*60 + b.Minute(), nil
}

// isQuiet reports whether nothing is sent at a time.
func (n Notice) isQuiet(now time.Time) bool {
	from, to, err := parseQuiet(n.Quiet)
	in, zoneErr := location(n.TimeZone)
	if err != nil || zoneErr != nil || from == to {
		return false
	}
	now = now.In(in)
	at := now.Hour()*60 + now.Minute()
	if from < to {
		return at >= from && at < to
	}
	return at >= from || at < to
}

// An outbox is a receiver's queue.
type outbox struct {
	Items   []item    `json:"items,omitempty"` // of later messages
	Message *message  `json:"message,omitempty"`
	Tries   int       `json:"tries,omitempty"` // of the message
	Next    time.Time `json:"next,omitzero"`   // the next try
	Sent    time.Time `json:"sent,omitzero"`
	Error   string    `json:"error,omitempty"`
}

// A message is sent at once. Its id is the same when it is sent again.
type message struct {
	ID    string `json:"id"`
	Items []item `json:"jobs"`
	More  int    `json:"more,omitempty"` // that are left out
}

// An item is a job that waits or has ended.
type item struct {
	Job    string      `json:"job"`
	Of     string      `json:"of"` // waiting, done or failed
	Status jobs.Status `json:"status"`
	Reason string      `json:"reason,omitempty"`
	Agent  string      `json:"agent,omitempty"`
	Title  string      `json:"title,omitempty"`
	Dir    string      `json:"dir,omitempty"`
	Time   time.Time   `json:"time"`
}

const (
	maxItems = 100 // of a message
	sendTime = 20 * time.Second
)

// notify puts an event into the outboxes of those who want it, and reports whether anybody does.
// The caller has the lock.
func (e *Engine) notify(ev event.Event, j *jobs.Job) (added bool) {
	it := item{Job: j.ID, Of: ofWaiting, Status: jobs.Waiting, Reason: e.o.Redact(j.Reason), Agent: j.Agent, Title: e.o.Redact(j.Title), Dir: j.Dir, Time: ev.Time}
	switch ev.Kind {
	case event.JobFinished:
		status, reason := finalOf(ev, j)
		if status == jobs.Cancelled {
			return false // a person has done it
		}
		if it.Of = ofFailed; status.Succeeded() {
			it.Of = ofDone
		}
		it.Status, it.Reason = status, e.o.Redact(reason)
	case event.JobWaiting:
	default:
		return false
	}
	for name, n := range e.o.Notices {
		if len(n.Of) > 0 && !slices.Contains(n.Of, it.Of) || len(n.Agents) > 0 && !slices.Contains(n.Agents, it.Agent) {
			continue
		}
		box := e.box(name)
		box.Items, added = append(box.Items, it), true
	}
	return added
}

// box is the outbox of a receiver. The caller has the lock.
func (e *Engine) box(name string) *outbox {
	b := e.s.Outboxes[name]
	if b == nil {
		b = &outbox{}
		e.s.Outboxes[name] = b
	}
	return b
}

// deliver sends the notices of a receiver until ctx ends. A message that was sent when the process
// is killed before it has noted that is sent again, with the same id.
func (e *Engine) deliver(ctx context.Context, name string) {
	n := e.o.Notices[name]
	for sleep(ctx, tick) {
		m := e.next(ctx, name, n)
		if m == nil {
			continue
		}
		limit, stop := context.WithTimeout(ctx, sendTime)
		err := e.send(limit, n, m)
		stop()
		if ctx.Err() != nil {
			return
		}
		e.sent(name, err)
	}
}

// next is the message that it is time to send, nil if there is none.
func (e *Engine) next(ctx context.Context, name string, n Notice) *message {
	e.mu.Lock()
	defer e.mu.Unlock()
	box, now := e.box(name), e.o.Now()
	if n.isQuiet(now) || waits(box.Next, now) {
		return nil
	}
	if box.Message != nil {
		return box.Message
	}
	if len(box.Items) == 0 {
		return nil
	}
	if age := now.Sub(box.Items[0].Time); age >= 0 && age < n.Digest { // below 0 the clock was set
		return nil
	}
	items := box.Items
	if box.Items = nil; n.Quiet != "" || n.Digest > 0 {
		items = slices.DeleteFunc(items, func(it item) bool { return it.Of == ofWaiting && e.answered(ctx, it.Job) })
	}
	if len(items) > 0 {
		box.Message = &message{ID: "msg_" + rand.Text(), Items: items[:min(len(items), maxItems)], More: max(0, len(items)-maxItems)}
	}
	if err := e.save(); err != nil {
		e.o.Log("keeping the state of notices: %v", err)
	}
	return box.Message
}

// answered reports whether a job waits no longer.
func (e *Engine) answered(ctx context.Context, id string) bool {
	d, err := e.o.Client.Job(ctx, id)
	return err == nil && d.Job.Status != jobs.Waiting
}

// sent records how sending a message went. It is tried again, later and later, maxTries times.
func (e *Engine) sent(name string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	box := e.box(name)
	switch {
	case err == nil:
		*box = outbox{Items: box.Items, Sent: e.o.Now()}
	case box.Tries+1 >= maxTries:
		e.o.Log("notice %s: given up after %d tries; %d jobs are not reported: %s", name, maxTries, len(box.Message.Items), e.o.Redact(err.Error()))
		*box = outbox{Items: box.Items, Sent: box.Sent, Error: e.o.Redact(err.Error())}
	default:
		box.Tries++
		box.Error, box.Next = e.o.Redact(err.Error()), retryAt(e.o.Now(), box.Tries)
		e.o.Log("notice %s: %s; it is tried again", name, box.Error)
	}
	if err := e.save(); err != nil {
		e.o.Log("keeping the state of notices: %v", err)
	}
}

func (e *Engine) send(ctx context.Context, n Notice, m *message) error {
	switch {
	case n.URL != "":
		return n.post(ctx, m, e.o.Getenv(n.SecretEnv), e.o.Now())
	case n.Mail.set():
		return n.Mail.send(ctx, m, e.o.Getenv(n.Mail.PasswordEnv), e.o.Now(), nil)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	first := m.Items[0]
	plain := func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
	r := hooks.New(e.o.Data, nil)
	err = r.Send(ctx, n.hook(e.o.Home), b, []string{"ADROIT_NOTICE=" + m.ID, "ADROIT_JOB=" + first.Job, "ADROIT_STATUS=" + string(first.Status), "ADROIT_TITLE=" + plain(first.Title)})
	return errors.Join(err, r.Close())
}

// hook is the command of a notice as that of a hook at the end of a run, which checks and runs it.
func (n Notice) hook(home string) hooks.Hook {
	command := slices.Clone(n.Command)
	command[0] = expandHome(home, command[0])
	return hooks.Hook{When: hooks.Ended, Command: command, Timeout: sendTime}
}

// post sends a message as a request that is signed in the manner of Standard Webhooks.
func (n Notice) post(ctx context.Context, m *message, secret string, now time.Time) error {
	key := signingKey(secret)
	if len(key) == 0 {
		return fmt.Errorf("%s, which has the secret, is not set", n.SecretEnv)
	}
	body, err := json.Marshal(struct {
		Type string    `json:"type"`
		Time time.Time `json:"timestamp"`
		Data *message  `json:"data"`
	}{"adroit.jobs", now.UTC(), m})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address is none")
	}
	at := strconv.FormatInt(now.Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("webhook-id", m.ID)
	req.Header.Set("webhook-timestamp", at)
	req.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac(key, m.ID, ".", at, ".", string(body))))
	once := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := once.Do(req)
	var addressed *url.Error
	if errors.As(err, &addressed) {
		err = addressed.Err // the path of the address may be a secret
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // so that the connection is used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answered %s", res.Status)
	}
	return nil
}

// subject is a message in a line.
func (m *message) subject() string {
	if len(m.Items) == 1 {
		it := m.Items[0]
		return fmt.Sprintf("adroit: %s: %s", it.Status.Words(), it.Title)
	}
	return fmt.Sprintf("adroit: %d jobs", len(m.Items)+m.More)
}

// text is a message for people.
func (m *message) text() string {
	var b strings.Builder
	for _, it := range m.Items {
		fmt.Fprintf(&b, "%s  %s  %s\n", it.Time.Format("2006-01-02 15:04"), it.Status.Words(), it.Title)
		if it.Reason != "" {
			fmt.Fprintf(&b, "  %s\n", it.Reason)
		}
		fmt.Fprintf(&b, "  %s\n\n", hint.Command("jobs show %s", it.Job))
	}
	if m.More > 0 {
		fmt.Fprintf(&b, "and %d more\n", m.More)
	}
	return b.String()
}

// letter is the message as a mail. Titles come from prompts: none of them ends a header.
func (m Mail) letter(msg *message, now time.Time) []byte {
	var b bytes.Buffer
	line := func(name, value string) {
		fmt.Fprintf(&b, "%s: %s\r\n", name, strings.Join(strings.Fields(value), " "))
	}
	host := m.From[strings.LastIndex(m.From, "@")+1:]
	line("From", m.From)
	line("To", strings.Join(m.To, ", "))
	line("Subject", mime.QEncoding.Encode("utf-8", strings.Join(strings.Fields(msg.subject()), " ")))
	line("Date", now.Format(time.RFC1123Z))
	line("Message-ID", "<"+msg.ID+"@"+host+">")
	line("Auto-Submitted", "auto-generated")
	line("MIME-Version", "1.0")
	line("Content-Type", "text/plain; charset=utf-8")
	line("Content-Transfer-Encoding", "base64")
	b.WriteString("\r\n")
	for enc := base64.StdEncoding.EncodeToString([]byte(msg.text())); enc != ""; {
		n := min(76, len(enc))
		b.WriteString(enc[:n] + "\r\n")
		enc = enc[n:]
	}
	return b.Bytes()
}

// send mails a message over TLS: from the start at port 465, else after STARTTLS. Only to this
// machine is anything sent without. roots are for tests.
func (m Mail) send(ctx context.Context, msg *message, password string, now time.Time, roots *x509.CertPool) error {
	host, port, err := net.SplitHostPort(m.Server)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.Server)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // a server that is silent is left
	conf := &tls.Config{ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12}
	if port == "465" {
		conn = tls.Client(conn, conf)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		_ = conn.Close()
		return err
	}
	defer c.Close()
	offered, _ := c.Extension("STARTTLS")
	ip := net.ParseIP(host)
	switch {
	case port == "465":
	case offered:
		if err := c.StartTLS(conf); err != nil {
			return err
		}
	case host != "localhost" && (ip == nil || !ip.IsLoopback()):
		return errors.New("the mail server does not offer STARTTLS, and nothing is sent without")
	}
	if m.User != "" {
		if password == "" {
			return fmt.Errorf("%s, which has the password, is not set", m.PasswordEnv)
		}
		if err := c.Auth(smtp.PlainAuth("", m.User, password, host)); err != nil {
			return err
		}
	}
	if err := c.Mail(m.From); err != nil {
		return err
	}
	for _, to := range m.To {
		if err := c.Rcpt(to); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(m.letter(msg, now)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = c.Quit() // it has the mail
	return nil
}
