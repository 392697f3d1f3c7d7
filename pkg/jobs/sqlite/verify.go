package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/pkg/flow"
)

// Verify reads the whole database and returns what is wrong with it, one
// sentence a fault, nothing if all is well: damaged pages, gaps in event logs,
// rows of jobs that are not there, content that is missing or is not what its
// digest says. An error means that it could not be read to the end.
func (d *DB) Verify(ctx context.Context) ([]string, error) {
	var faults []string
	for _, c := range []struct{ query, fault string }{
		{"select * from pragma_integrity_check where integrity_check <> 'ok' limit 20", "%s"},
		{`select jobs.id from jobs left join events on events.job = jobs.id group by jobs.id
			having count(events.seq) <> jobs.seq or coalesce(max(events.seq), 0) <> jobs.seq`, "the event log of %s has gaps"},
		{`select distinct job from (select job from steps union all select job from checkpoints union all select job from signals
			union all select job from refs union all select job from events) where job not in (select id from jobs)`, "there are records of %s, a job that does not exist"},
		{"select job || ' ' || digest from refs where digest not in (select digest from blobs)", "content is missing: %s"},
		{"select job || ' ' || path from steps where big <> '' and big not in (select digest from blobs)", "the result of a step is missing: %s"},
		{`select digest from blobs where not exists (select 1 from refs where refs.digest = blobs.digest)
			and not exists (select 1 from steps where steps.big = blobs.digest)`, "no job needs content %s"},
	} {
		err := d.each(ctx, c.query, func(rows *sql.Rows) error {
			var what string
			err := rows.Scan(&what)
			faults = append(faults, fmt.Sprintf(c.fault, what))
			return err
		})
		if err != nil {
			return faults, err
		}
	}
	err := d.each(ctx, "select digest, data from blobs", func(rows *sql.Rows) error {
		var digest string
		var data []byte
		err := rows.Scan(&digest, &data)
		if err == nil && flow.Digest(data) != digest {
			faults = append(faults, fmt.Sprintf("content %s is damaged", digest))
		}
		return err
	})
	return faults, err
}

// each calls f for every row of a query.
func (d *DB) each(ctx context.Context, query string, f func(*sql.Rows) error) error {
	rows, err := d.read.QueryContext(ctx, query)
	if err != nil {
		return explain(d.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return explain(d.path, err)
		}
	}
	return explain(d.path, errors.Join(rows.Err(), rows.Close()))
}
