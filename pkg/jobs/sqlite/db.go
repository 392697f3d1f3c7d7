package sqlite

import (
	"context"
	"database/sql"
	"os"
	"sync"
	"sync/atomic"
)

// Options say how to open a database. The zero value is good.
type Options struct {
	// Version is the version of the program, written into the file so that
	// an older program can say which one it needs.
	Version string
	// Check makes Open read every page and refuse a damaged file. It takes
	// about a second per gigabyte.
	Check bool

	vfs     string   // of SQLite, for tests that break disks
	pragmas []string // of the writer, after its own
	clock   *clock
}

// A DB is an open database. It is safe for concurrent use and implements
// jobs.Store. Close it: closing waits for what was begun.
type DB struct {
	path     string
	vfs      string
	read     *sql.DB   // a small pool of query-only connections
	write    *sql.DB   // exactly one connection, used by loop alone
	job1     *sql.Stmt // of read: what running jobs ask again and again
	fence1   *sql.Stmt
	blob1    *sql.Stmt
	count1   *sql.Stmt
	ahead1   *sql.Stmt
	conn     *sql.Conn
	stmts    map[string]*sql.Stmt // of conn
	ops      chan *op
	closing  sync.RWMutex // held for reading while sending to ops
	closed   bool
	reads    bool // opened by OpenReadOnly
	opened   os.FileInfo
	stopped  chan struct{}
	broken   atomic.Pointer[error]
	fold     bool // the writer's: a job has ended since the log was folded into the database
	commits  atomic.Int64
	notifier notifier
	clock    clock
}

// An op is one write. It may run more than once, so its effects outside of the
// transaction must be assignments.
type op struct {
	ctx     context.Context // while it waits for an exhausted host
	do      func(*tx) error
	state   atomic.Int32
	after   func(error) // called by the writer with the outcome, if not nil
	done    chan error
	noticed bool     // that it waits for the host
	changed []string // jobs whose followers look again
}

const (
	waiting = iota
	taken
	abandoned
)

// A tx is what an op sees of its transaction.
type tx struct {
	d   *DB
	o   *op
	job string // fenced last, or logged for
	seq int64  // of its last event
}

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	s, ok := t.d.stmts[query]
	if ok {
		return s, nil
	}
	s, err := t.d.conn.PrepareContext(context.Background(), query)
	if err == nil {
		t.d.stmts[query] = s
	}
	return s, err
}

// exec runs a statement and gives the number of rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := s.Exec(args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// one scans the first row of a query, or returns sql.ErrNoRows.
func (t *tx) one(query string, args []any, to ...any) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	return s.QueryRow(args...).Scan(to...)
}

// each calls f with what scans each row of a query.
func (t *tx) each(query string, args []any, f func(scan func(...any) error) error) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.Query(args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// notify wakes the followers of job once the transaction is durable.
func (t *tx) notify(job string) { t.o.changed = append(t.o.changed, job) }
