package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
)

var _ memory.Store = (*DB)(nil)

const factColumns = "f.id, f.scope, f.project, f.kind, f.text, f.confidence, f.untrusted, f.job, f.step, f.file, f.digest, f.created"

func scanFact(scan func(...any) error) (f memory.Fact, err error) {
	var created int64
	err = scan(&f.ID, (*string)(&f.Scope), &f.Project, (*string)(&f.Kind), &f.Text, (*string)(&f.Confidence), &f.Untrusted,
		&f.Job, &f.Step, &f.File, &f.Digest, &created)
	f.Created = at(created)
	return f, err
}

// AddFacts implements memory.Store.
func (d *DB) AddFacts(ctx context.Context, add ...memory.Addition) ([]memory.Fact, error) {
	add = slices.Clone(add)
	for i := range add {
		if err := add[i].Clean(); err != nil {
			return nil, err
		}
	}
	var out []memory.Fact
	err := d.do(ctx, func(t *tx) error {
		out = nil
		for _, a := range add {
			f, err := t.addFact(a)
			if err != nil {
				return err
			}
			out = append(out, f)
		}
		return nil
	})
	return out, err
}

// fact finds one by a condition; ok is false if there is none.
func (t *tx) fact(where string, args ...any) (f memory.Fact, ok bool, err error) {
	err = t.each("select "+factColumns+" from facts f where "+where+" limit 1", args, func(scan func(...any) error) error {
		ok = true
		var err error
		f, err = scanFact(scan)
		return err
	})
	return f, ok, err
}

func (t *tx) addFact(a memory.Addition) (memory.Fact, error) {
	f := a.Fact
	old, ok, err := t.fact("f.id = ?", f.ID)
	if err != nil || ok && f.Kind != memory.Summary {
		return old, err
	}
	remove := ""
	switch {
	case ok:
		remove = old.ID
	case a.Replaces != "":
		if old, ok, err = t.fact("f.id = ?", a.Replaces); err == nil && !ok {
			err = fmt.Errorf("%s: %w", a.Replaces, memory.ErrNotExist)
		} else if err == nil {
			err = f.MayReplace(old)
		}
		remove = a.Replaces
	}
	if err != nil {
		return f, err
	}
	if remove != "" {
		if _, err := t.exec("delete from facts where id = ?", remove); err != nil {
			return f, err
		}
	}
	if f.Kind != memory.Summary {
		same, ok, err := t.fact("f.text = ? and f.scope = ? and f.project = ? and f.kind <> 'summary'", f.Text, string(f.Scope), f.Project)
		if err != nil {
			return f, err
		}
		if ok {
			f = f.Renew(same)
			if _, err := t.exec("delete from facts where id = ?", f.ID); err != nil {
				return f, err
			}
		}
	}
	_, err = t.exec(`insert into facts (id, scope, project, kind, text, confidence, untrusted, job, step, file, digest, created)
		values (?,?,?,?,?,?,?,?,?,?,?,?)`, f.ID, string(f.Scope), f.Project, string(f.Kind), f.Text, string(f.Confidence), f.Untrusted,
		f.Job, f.Step, f.File, f.Digest, nanos(f.Created))
	return f, err
}

// factQuery returns the SQL after "select … from" that selects the facts of q.
func factQuery(q memory.Query, now time.Time) (sql string, args []any) {
	from, order, where := "facts f", "f.created desc, f.n desc", []string{"1"}
	and := func(cond string, values ...any) { where, args = append(where, cond), append(args, values...) }
	if q.Text != "" {
		from = "facts_words join facts f on f.n = facts_words.rowid"
		quoted := make([]string, 0, 32)
		for _, w := range memory.Words(q.Text) {
			quoted = append(quoted, `"`+w+`"`) // letters and digits only
		}
		if len(quoted) == 0 {
			and("0")
		} else {
			and("facts_words match ?", strings.Join(quoted, " OR "))
		}
	}
	for _, c := range []struct{ column, value string }{{"id", q.ID}, {"kind", string(q.Kind)}, {"job", q.Job}, {"scope", string(q.Scope)}} {
		if c.value != "" {
			and("f."+c.column+" = ?", c.value)
		}
	}
	if q.Project != "" {
		and("(f.scope = 'user' or f.project = ?)", q.Project)
	}
	if q.Text != "" && where[1] != "0" {
		// As memory.Decay; bm25 is the more negative the better.
		order = "bm25(facts_words) / (1.0 + max(0, ? - f.created) / 7.776e15), f.n desc"
		args = append(args, nanos(now))
	}
	sql = from + " where " + strings.Join(where, " and ") + " order by " + order
	if q.Limit > 0 {
		sql += fmt.Sprintf(" limit %d", q.Limit)
	}
	return sql, args
}

// Facts implements memory.Store.
func (d *DB) Facts(ctx context.Context, q memory.Query) ([]memory.Fact, error) {
	query, args := factQuery(q, d.clock.now())
	rows, err := d.read.QueryContext(ctx, "select "+factColumns+" from "+query, args...)
	if err != nil {
		return nil, explain(d.path, err)
	}
	defer rows.Close()
	var out []memory.Fact
	for rows.Next() {
		f, err := scanFact(rows.Scan)
		if err != nil {
			return nil, explain(d.path, err)
		}
		out = append(out, f)
	}
	return out, explain(d.path, rows.Err())
}

// RemoveFacts implements memory.Store.
func (d *DB) RemoveFacts(ctx context.Context, q memory.Query) (int, error) {
	n := 0
	query, args := factQuery(q, d.clock.now())
	err := d.do(ctx, func(t *tx) error {
		removed, err := t.exec("delete from facts where n in (select f.n from "+query+")", args...)
		n = int(removed)
		return err
	})
	return n, err
}

const (
	// minFree is the free space in bytes from which on shrinking pays, if it is also a
	// quarter of the file.
	minFree = 1 << 20
	// maxRewritten bounds, in bytes, what Shrink writes anew: others cannot write
	// meanwhile, and wait up to busyLimit.
	maxRewritten = 512 << 20
)

// Shrink gives the space of removed jobs back to the disk, if that is much of the file,
// and reports whether it did. The file is written anew in one transaction; without the
// room for that, or while somebody else writes for long, it stays as it is.
func (d *DB) Shrink(ctx context.Context) (bool, error) {
	if d.reads {
		return false, nil
	}
	db, err := sql.Open("sqlite", dsn(d.path, d.vfs))
	if err != nil {
		return false, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var pages, free, size int64
	for _, q := range []struct {
		name string
		to   *int64
	}{{"page_count", &pages}, {"freelist_count", &free}, {"page_size", &size}} {
		if err := db.QueryRowContext(ctx, "pragma "+q.name).Scan(q.to); err != nil {
			return false, explain(d.path, err)
		}
	}
	if free*size < minFree || free < pages/4 || (pages-free)*size > maxRewritten {
		return false, nil
	}
	if _, err := db.ExecContext(ctx, "vacuum"); err != nil {
		if err := explain(d.path, err); ctx.Err() != nil || exhaustion.Of(err) == "" {
			return false, err
		}
		return false, nil
	}
	// A reader elsewhere keeps the log; then the last close shortens the file.
	_, err = db.ExecContext(ctx, "pragma wal_checkpoint(truncate)")
	return err == nil, explain(d.path, err)
}
