//go:build linux && amd64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
)

// The kernel of a 64-bit machine also takes the calls of 32-bit programs, which
// have other numbers. A Go program makes none, so these two are put together
// byte by byte.

// callsI386 returns a 64-bit program that asks for its process ID by a 32-bit system call and
// exits with 0 if it got one.
func callsI386() []byte {
	code := []byte{
		0xb8, 20, 0, 0, 0, // mov eax, getpid (i386)
		0xcd, 0x80, // int 0x80
		0x85, 0xc0, // test eax, eax
		0x7e, 9, // jle fail
		0xb8, 60, 0, 0, 0, // mov eax, exit
		0x31, 0xff, // xor edi, edi
		0x0f, 0x05, // syscall
		0xb8, 60, 0, 0, 0, // fail: mov eax, exit
		0xbf, 1, 0, 0, 0, // mov edi, 1
		0x0f, 0x05, // syscall
	}
	const base, start = 0x400000, 64 + 56
	size := uint64(start + len(code))
	return packed(
		[]byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"), uint16(2), uint16(62), uint32(1), uint64(base+start), uint64(64), uint64(0),
		uint32(0), uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(4096), code)
}

// programI386 returns a 32-bit program that exits with 0.
func programI386() []byte {
	code := []byte{
		0xb8, 1, 0, 0, 0, // mov eax, exit
		0x31, 0xdb, // xor ebx, ebx
		0xcd, 0x80, // int 0x80
	}
	const base, start = 0x8048000, 52 + 32
	size := uint32(start + len(code))
	return packed(
		[]byte("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"), uint16(2), uint16(3), uint32(1), uint32(base+start), uint32(52), uint32(0),
		uint32(0), uint16(52), uint16(32), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(0), uint32(base), uint32(base), size, size, uint32(5), uint32(4096), code)
}

func packed(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		_ = binary.Write(&b, binary.LittleEndian, p) // a buffer takes everything
	}
	return b.Bytes()
}

// assembled runs a program whose bytes are given.
func assembled(name string, program []byte) error {
	if err := os.WriteFile(name, program, 0o755); err != nil {
		return err
	}
	if out, err := exec.Command("./" + name).CombinedOutput(); err != nil {
		return fmt.Errorf("%w %s", err, out)
	}
	return nil
}
