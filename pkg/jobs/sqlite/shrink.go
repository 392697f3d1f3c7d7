package sqlite

import (
	"context"
	"database/sql"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
)

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
