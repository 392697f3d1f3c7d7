package sqlite

import (
	"context"
	"fmt"
)

// Exec runs one statement on a table that is not the jobs' own, such as a memory
// of this program in the same file, and returns how many rows it changed. Its effect is durable when
// it returns, or not there at all. The statement is prepared once and kept.
func (d *DB) Exec(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	err = d.do(ctx, func(t *tx) (err error) {
		rows, err = t.exec(statement, args...)
		return err
	})
	return rows, err
}

// Query calls row with what scans each row that a query on such a table yields,
// until it returns an error.
func (d *DB) Query(ctx context.Context, query string, args []any, row func(scan func(...any) error) error) error {
	rows, err := d.read.QueryContext(ctx, query, args...)
	if err != nil {
		return explain(d.path, fmt.Errorf("query: %w", err))
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return explain(d.path, rows.Err())
}
