package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// ask puts a job's question to the person at the terminal and sends the
// answer. It reports false if there was none: then the job stays parked.
func (a *app) ask(ctx context.Context, store jobs.Store, job *jobs.Job) (bool, error) {
	q, err := pending(ctx, store, job.ID)
	if err != nil || q == nil {
		return false, err
	}
	yes, no := listens(q, "approve"), listens(q, "deny")
	if yes == "" || no == "" {
		return false, nil
	}
	in := &reader{ctx: ctx, r: bufio.NewReader(a.Stdin)}
	fmt.Fprint(a.Stderr, asked(q, 240))
	for {
		fmt.Fprint(a.Stderr, "     run it? [y]es, [n]o, [v]iew all of it: ")
		word, err := in.line()
		if err != nil {
			fmt.Fprintln(a.Stderr)
			return false, nil
		}
		switch strings.ToLower(strings.TrimSpace(word)) {
		case "y", "yes":
			return true, send(ctx, store, job.ID, yes, nil)
		case "n", "no":
			return true, send(ctx, store, job.ID, no, nil)
		case "v", "view":
			fmt.Fprint(a.Stderr, asked(q, -1))
		}
	}
}

// listens is the full name of a signal that q waits for, "" if it does not.
func listens(q *jobs.Question, name string) string {
	for _, s := range q.Signals {
		if s == name || bare(s) == name {
			return s
		}
	}
	return ""
}

// asked shows what exactly will run, each argument on lines of its own, at
// most limit characters of each; all of it if limit is negative.
func asked(q *jobs.Question, limit int) string {
	var about struct {
		Tool string                     `json:"tool"`
		Args map[string]json.RawMessage `json:"args"`
	}
	if json.Unmarshal(q.About, &about) != nil || about.Tool == "" {
		return fmt.Sprintf("     asks: %s\n", lines(string(q.About)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "     %s wants to run:\n", line(about.Tool))
	for _, name := range sorted(about.Args) {
		text := readable(about.Args[name])
		var s string
		if json.Unmarshal(about.Args[name], &s) == nil {
			text = s
		}
		if limit >= 0 && len([]rune(text)) > limit {
			text = fmt.Sprintf("%s (%s in all; v shows them)", cut(text, limit), plural(len([]rune(text)), "character"))
		}
		text = strings.ReplaceAll(lines(text), "\n", "\n         ")
		fmt.Fprintf(&b, "       %s: %s\n", line(name), text)
	}
	return b.String()
}

// A reader reads lines until its context ends.
type reader struct {
	ctx context.Context
	r   *bufio.Reader
}

// line waits for a line. When the context ends first, the goroutine that reads
// is left behind: a read of a terminal cannot be stopped, and the process is
// about to end.
func (r *reader) line() (string, error) {
	type answer struct {
		text string
		err  error
	}
	ch := make(chan answer, 1)
	go func() {
		s, err := r.r.ReadString('\n')
		if err == io.EOF && s != "" {
			err = nil
		}
		ch <- answer{s, err}
	}()
	select {
	case got := <-ch:
		return got.text, got.err
	case <-r.ctx.Done():
		return "", context.Cause(r.ctx)
	}
}
