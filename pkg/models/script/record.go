package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Recording marks a script as recorded, and with what.
type Recording struct {
	Job    string `json:"job" yaml:"job"`
	Model  string `json:"model" yaml:"model"`                       // provider/model
	Window int    `json:"window,omitempty" yaml:"window,omitempty"` // that was asked for
}

// A recorder keeps the models' answers as a script, one turn a line, readable by its
// owner only. The file is complete after each turn, so that a job that was killed
// continues it: a turn that is asked for again replaces the first recording, because the
// journal has the later answer.
//
// A recorder is safe for concurrent use. Two processes must not have the same file open;
// a job's lease sees to that.
type recorder struct {
	path string
	head []byte
	hide *secret.Redactor

	mu     sync.Mutex
	lines  [][]byte
	turns  map[string]int // line by digest of the conversation and tools
	known  map[string]bool
	broken error
}

// Record opens path for the turns of a job, or continues the recording of an earlier run
// of the same job. It refuses any other file. Secrets that r finds are left out; r may be
// nil.
func Record(path string, of Recording, r *secret.Redactor) (*recorder, error) {
	head, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	rec := &recorder{path: path, hide: r, turns: map[string]int{}, known: map[string]bool{},
		head: fmt.Appendf(nil, "{\"recording\": %s, \"turns\": [\n", head)}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := rootfs.CreateFile(path, 0o600, rec.whole()); err != nil {
			return nil, fmt.Errorf("recording: %w", err)
		}
		return rec, nil
	}
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	f, err := decode(b)
	torn := false
	if err != nil && bytes.HasPrefix(b, rec.head) {
		b, torn = completeTurns(rec.head, b), true
		f, err = decode(b)
	}
	if err != nil || f.Recording == nil {
		return nil, fmt.Errorf("recording: %s is there already and is no recording; name another file", path)
	}
	if f.Recording.Job != of.Job {
		return nil, fmt.Errorf("recording: %s is the recording of job %s; name another file", path, f.Recording.Job)
	}
	rest := bytes.Split(b, []byte("\n"))[1:]
	for i := range f.Turns {
		if f.Turns[i].Asked == nil || i >= len(rest) {
			return nil, fmt.Errorf("recording: %s was changed since; name another file", path)
		}
		rec.keep(f.Turns[i].Asked, bytes.TrimSuffix(rest[i], []byte(",")))
	}
	if torn {
		return rec, rec.replace()
	}
	return rec, nil
}

// completeTurns drops an incomplete last turn, as a crash or a power failure
// leaves it.
func completeTurns(head, b []byte) []byte {
	var whole [][]byte
	for _, line := range bytes.Split(b[len(head):], []byte("\n")) {
		if line = bytes.TrimSuffix(line, []byte(",")); json.Valid(line) && bytes.HasPrefix(line, []byte("{")) {
			whole = append(whole, line)
		}
	}
	return append(append(bytes.Clone(head), bytes.Join(whole, []byte(",\n"))...), "\n]}\n"...)
}

// keep takes a line in, in place of an older one of the same request, and
// reports whether it is new.
func (r *recorder) keep(a *asked, line []byte) bool {
	key := a.Digest + a.Tools
	r.known[a.Digest] = true
	if i, ok := r.turns[key]; ok {
		r.lines[i] = line
		return false
	}
	r.turns[key] = len(r.lines)
	r.lines = append(r.lines, line)
	return true
}

func (r *recorder) whole() []byte {
	return append(append(bytes.Clone(r.head), bytes.Join(r.lines, []byte(",\n"))...), "\n]}\n"...)
}

// Keep records a turn; resp is nil if the request was too long. The error of a file that cannot be written is given
// for every turn from then on: a recording with holes is none.
func (r *recorder) Keep(req *llm.Request, resp *llm.Response) error {
	all, digests := digestAll(req.Messages)
	if len(all) == 0 {
		return nil
	}
	if resp == nil {
		return r.take(req, recorded{TooLong: true}, all, digests)
	}
	t := recorded{Text: r.text(resp.Message.Text), Thinking: r.text(resp.Message.Thinking), Stop: resp.Stop, Usage: usage(resp.Usage)}
	for _, n := range resp.Notes {
		t.Notes = append(t.Notes, r.text(n))
	}
	for _, c := range resp.Message.Calls {
		c.ID = "" // ids are numbered when it is played
		t.Calls = append(t.Calls, c)
	}
	return r.take(req, t, all, digests)
}

// take writes the turn in which a conversation was answered.
func (r *recorder) take(req *llm.Request, t recorded, all []messageDigest, digests []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	a := &asked{Digest: digests[len(digests)-1], Tools: offers(req.Tools)}
	from := 0
	for i := len(digests) - 2; i >= 0; i-- {
		if r.known[digests[i]] {
			a.After, from = digests[i], i+1
			break
		}
	}
	for _, h := range all[from:] {
		h.Text = r.text(h.Text)
		a.New = append(a.New, h)
	}
	t.Asked = a
	line, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	if r.hide != nil {
		// Whatever field a value ended up in. Shapes of secrets are looked for in
		// prose alone: arguments must play as they were.
		line, _ = r.hide.Known().JSON(line)
	}
	if r.keep(a, line) {
		err = r.append(line)
	} else {
		err = r.replace()
	}
	if err != nil {
		r.broken = fmt.Errorf("recording: %w", err)
	}
	return r.broken
}

func (r *recorder) text(s string) string {
	if r.hide != nil {
		s, _ = r.hide.String(s)
	}
	return s
}

// append writes the last line over the end of the file, in one go.
func (r *recorder) append(line []byte) (err error) {
	f, err := os.OpenFile(r.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, err := f.Seek(0, 2)
	if err != nil {
		return err
	}
	add, at := append(bytes.Clone(line), "\n]}\n"...), end-int64(len("\n]}\n"))
	if len(r.lines) > 1 {
		add = append([]byte(",\n"), add...)
	}
	if _, err := f.WriteAt(add, at); err != nil {
		return err
	}
	return f.Sync() // before the journal has the answer
}

func (r *recorder) replace() error { return rootfs.WriteFile(r.path, r.whole()) }

// A recorded is a turn as it is written: the script's, without what a
// recording never has.
type recorded struct {
	Asked    *asked     `json:"asked"`
	TooLong  bool       `json:"too_long,omitempty"` // there was no answer
	Text     string     `json:"text,omitempty"`
	Thinking string     `json:"thinking,omitempty"`
	Calls    []llm.Call `json:"calls,omitempty"`
	Stop     llm.Stop   `json:"stop,omitempty"`
	Notes    []string   `json:"notes,omitempty"`
	Usage    usage      `json:"usage"`
}
