package sandbox

const (
	auditArch = 0xc00000b7 // AUDIT_ARCH_AARCH64
	x32Bit    = 0          // there is no second numbering
)

var deniedHere []uint32

var modesHere []moder
