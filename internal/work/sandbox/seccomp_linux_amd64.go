package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = 0xc000003e // AUDIT_ARCH_X86_64
	x32Bit    = 0x40000000 // of calls numbered as in x32
)

// deniedHere are the calls that only this architecture has.
var deniedHere = []uint32{unix.SYS_IOPERM, unix.SYS_IOPL, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_CREATE_MODULE}

// modesHere are the calls of this architecture that give a file its mode.
var modesHere = []moder{{unix.SYS_CHMOD, offArg1, 0}, {unix.SYS_CREAT, offArg1, 0}, {unix.SYS_MKNOD, offArg1, 0}, {unix.SYS_OPEN, offArg2, offArg1}}

// renames are the calls that rename.
var renames = []uint32{unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2}

// renameArgs returns the two paths and the flags of such a call.
func renameArgs(d *seccompData) (from, to operand, flags uint64) {
	switch d.nr {
	case unix.SYS_RENAME:
		return operand{unix.AT_FDCWD, d.args[0]}, operand{unix.AT_FDCWD, d.args[1]}, 0
	case unix.SYS_RENAMEAT2:
		flags = uint64(uint32(d.args[4]))
	}
	return operand{int32(d.args[0]), d.args[1]}, operand{int32(d.args[2]), d.args[3]}, flags
}
