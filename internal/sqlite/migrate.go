package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed schema/*.sql
var schema embed.FS

// migrate applies the numbered files of schema that the database has not seen,
// each in a transaction of its own, so that a kill leaves the old or the new.
func migrate(ctx context.Context, c *sql.Conn, path, version string) error {
	files, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return err
	}
	for {
		more, err := migrateOnce(ctx, c, path, version, files)
		if err != nil || !more {
			return err
		}
	}
}

func migrateOnce(ctx context.Context, c *sql.Conn, path, version string, files []string) (more bool, err error) {
	var at int
	if err := c.QueryRowContext(ctx, "pragma user_version").Scan(&at); err != nil {
		return false, err
	}
	if at > len(files) {
		var by string
		_ = c.QueryRowContext(ctx, "select value from meta where key = 'adroit'").Scan(&by)
		return false, &newerError{Path: path, Schema: at, Knows: len(files), Version: by}
	}
	if at == len(files) {
		return false, nil
	}
	if _, err := c.ExecContext(ctx, "begin immediate"); err != nil {
		return false, err
	}
	defer func() {
		if err != nil {
			_, _ = c.ExecContext(context.WithoutCancel(ctx), "rollback")
		}
	}()
	// Another process may have been faster.
	var now int
	if err := c.QueryRowContext(ctx, "pragma user_version").Scan(&now); err != nil {
		return false, err
	}
	if now == at {
		text, err := schema.ReadFile(files[at])
		if err != nil {
			return false, err
		}
		if _, err := c.ExecContext(ctx, string(text)); err != nil {
			return false, fmt.Errorf("migrating to schema %d: %w", at+1, err)
		}
		if _, err := c.ExecContext(ctx, fmt.Sprintf("pragma user_version = %d; pragma application_id = %d", at+1, appID)); err != nil {
			return false, err
		}
		if _, err := c.ExecContext(ctx, `insert into meta (key, value) values ('adroit', ?)
			on conflict do update set value = excluded.value`, version); err != nil {
			return false, err
		}
	}
	_, err = c.ExecContext(ctx, "commit")
	return true, err
}
