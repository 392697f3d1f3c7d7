package jobs

import (
	"crypto/rand"
	"time"
)

// crockford is base 32 without letters that people confuse; it sorts as it
// counts.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// New gives an id for a job created at now: J, nine characters of time in
// milliseconds and four random ones. Ids sort by time.
func New(now time.Time) string {
	id := []byte("J-------------")
	ms := now.UnixMilli()
	for i := 9; i >= 1; i-- {
		id[i] = crockford[ms&31]
		ms >>= 5
	}
	var b [4]byte
	rand.Read(b[:]) // never fails: see its documentation
	for i, v := range b {
		id[10+i] = crockford[v&31]
	}
	return string(id)
}
