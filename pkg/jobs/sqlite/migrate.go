package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

// appID marks the file as adroit's, in SQLite's application_id.
const appID = 0x61647274

//go:embed schema/*.sql
var schema embed.FS

// movedSuffix is that of the files which move rows to a table like the one that the
// first file makes: a new database has no rows, and to parse such a file takes it as
// long as all others.
const movedSuffix = "_moved.sql"

// migrate applies the numbered files of schema that the database has not seen, in
// one transaction, so that a kill leaves the old or the new.
func migrate(ctx context.Context, c *sql.Conn, path, version string) error {
	files, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return err
	}
	if unseen, err := pending(ctx, c, path, files); err != nil || len(unseen) == 0 {
		return err
	}
	if _, err := c.ExecContext(ctx, "begin immediate"); err != nil {
		return err
	}
	unseen, err := pending(ctx, c, path, files) // another process may have been faster
	if err == nil && len(unseen) > 0 {
		err = apply(ctx, c, unseen, len(files), version)
	}
	if err == nil {
		_, err = c.ExecContext(ctx, "commit")
	}
	if err != nil {
		_, _ = c.ExecContext(context.WithoutCancel(ctx), "rollback")
	}
	return err
}

// pending returns the files that the database has not seen.
func pending(ctx context.Context, c *sql.Conn, path string, files []string) ([]string, error) {
	var at int
	if err := c.QueryRowContext(ctx, "pragma user_version").Scan(&at); err != nil {
		return nil, err
	}
	if at > len(files) {
		var by string
		_ = c.QueryRowContext(ctx, "select value from meta where key = 'adroit'").Scan(&by)
		return nil, &newerError{Path: path, Schema: at, Knows: len(files), Version: by}
	}
	return files[at:], nil
}

func apply(ctx context.Context, c *sql.Conn, files []string, schemas int, version string) error {
	for i, name := range files {
		if len(files) == schemas && strings.HasSuffix(name, movedSuffix) {
			continue
		}
		text, err := schema.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := c.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("migrating to schema %d: %w", schemas-len(files)+i+1, err)
		}
	}
	if _, err := c.ExecContext(ctx, fmt.Sprintf("pragma user_version = %d; pragma application_id = %d", schemas, appID)); err != nil {
		return err
	}
	_, err := c.ExecContext(ctx, `insert into meta (key, value) values ('adroit', ?)
		on conflict do update set value = excluded.value`, version)
	return err
}
