package problem

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/match"
)

// A Database has the tables of failures: *sqlite.DB.
type Database interface {
	Exec(ctx context.Context, statement string, args ...any) (rows int64, err error)
	Query(ctx context.Context, query string, args []any, row func(scan func(...any) error) error) error
}

// In is the store in a database, which other processes use too.
func In(d Database) Store { return database{d} }

type database struct{ Database }

// Add implements Store.
func (d database) Add(ctx context.Context, f Failure) error {
	action, err := json.Marshal(f.Action)
	if err != nil {
		return fmt.Errorf("failure %s: %w", f.Key, err)
	}
	_, err = d.Exec(ctx, `insert into failures (key, project, signature, type, message, text, outcome, action, tokens, cost, at)
		values (?,?,?,?,?,?,?,?,?,?,?) on conflict (key) do nothing`,
		f.Key, f.Project, f.Signature, f.Type, f.Message, f.Text, f.Outcome, string(action), f.Tokens, f.Cost, f.At.UnixNano())
	return err
}

// where is the condition for a query, whatever its words.
func (q Query) where() (string, []any) {
	var all []string
	var args []any
	add := func(condition string, values ...any) { all, args = append(all, condition), append(args, values...) }
	if q.Project != "" {
		add("project = ?", q.Project)
	}
	if q.Signature != "" {
		add("signature = ?", q.Signature)
	}
	if job, ok := strings.CutSuffix(q.Key, "/"); ok {
		add("key >= ? and key < ?", q.Key, job+"0") // the character after the slash
	} else if q.Key != "" {
		add("key = ?", q.Key)
	}
	if !q.Before.IsZero() {
		add("at < ?", q.Before.UnixNano())
	}
	if len(all) == 0 {
		return "true", nil
	}
	return strings.Join(all, " and "), args
}

const failureColumns = "key, project, signature, type, message, failures.text, outcome, action, tokens, cost, at"

// Find implements Store.
func (d database) Find(ctx context.Context, q Query) ([]Failure, error) {
	where, args := q.where()
	query := "select " + failureColumns + " from failures where " + where + " order by at desc, n desc"
	if len(q.Words) > 0 {
		query = "select " + failureColumns + " from failures_text join failures on n = failures_text.rowid where failures_text match ? and " +
			where + " order by bm25(failures_text), at desc, n desc"
		args = append([]any{match.AnyWord(q.Words)}, args...)
	}
	limit := -1
	if q.Limit > 0 {
		limit = q.Limit
	}
	var out []Failure
	err := d.Query(ctx, query+" limit ? offset ?", append(args, limit, q.Skip), func(scan func(...any) error) error {
		var f Failure
		var action string
		var at int64
		if err := scan(&f.Key, &f.Project, &f.Signature, &f.Type, &f.Message, &f.Text, &f.Outcome, &action, &f.Tokens, &f.Cost, &at); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(action), &f.Action); err != nil {
			return fmt.Errorf("failure %s: %w", f.Key, err)
		}
		f.At = time.Unix(0, at).UTC()
		out = append(out, f)
		return nil
	})
	return out, err
}

// Forget implements Store.
func (d database) Forget(ctx context.Context, q Query) (int, error) {
	where, args := q.where()
	n, err := d.Exec(ctx, "delete from failures where "+where, args...)
	return int(n), err
}
