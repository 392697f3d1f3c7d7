package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = 0xc00000b7 // AUDIT_ARCH_AARCH64
	x32Bit    = 0          // there is no second numbering
)

var deniedHere []uint32

var modesHere []moder

// renames are the calls that rename.
var renames = []uint32{unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2}

// renameArgs returns the two paths and the flags of such a call.
func renameArgs(d *seccompData) (from, to operand, flags uint64) {
	if d.nr == unix.SYS_RENAMEAT2 {
		flags = uint64(uint32(d.args[4]))
	}
	return operand{int32(d.args[0]), d.args[1]}, operand{int32(d.args[2]), d.args[3]}, flags
}
