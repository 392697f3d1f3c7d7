package tinymodel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// The part of the GGUF v3 file format that a tiny model needs.
const (
	typeU32   = 4
	typeI32   = 5
	typeF32   = 6
	typeBool  = 7
	typeText  = 8
	typeArray = 9

	dataF32 = 0
	dataF16 = 1

	alignment = 32
)

// entry is a metadata entry; value is a uint32, float32, bool, string,
// []string or []int32.
type entry struct {
	key   string
	value any
}

// tensor is a matrix, row by row, or a vector if rows is 0. Matrices are
// stored in half precision.
type tensor struct {
	name       string
	cols, rows int
	data       []float32
}

func (t tensor) size() int {
	if t.rows > 0 {
		return 2 * len(t.data)
	}
	return 4 * len(t.data)
}

type file struct{ bytes.Buffer }

func (f *file) put(v any) {
	// A Buffer does not fail, and every v here has a fixed size.
	_ = binary.Write(f, binary.LittleEndian, v)
}

func (f *file) text(s string) {
	f.put(uint64(len(s)))
	f.WriteString(s)
}

func (f *file) pad() {
	for f.Len()%alignment != 0 {
		f.WriteByte(0)
	}
}

// encode lays out a GGUF file.
func encode(meta []entry, tensors []tensor) []byte {
	var f file
	f.WriteString("GGUF")
	f.put(uint32(3))
	f.put(uint64(len(tensors)))
	f.put(uint64(len(meta)))
	for _, e := range meta {
		f.text(e.key)
		f.value(e.value)
	}
	offset := 0
	for _, t := range tensors {
		f.text(t.name)
		if t.rows > 0 {
			f.put(uint32(2))
			f.put([]uint64{uint64(t.cols), uint64(t.rows)}) // the faster moving one first
			f.put(uint32(dataF16))
		} else {
			f.put(uint32(1))
			f.put(uint64(t.cols))
			f.put(uint32(dataF32))
		}
		f.put(uint64(offset))
		offset += (t.size() + alignment - 1) / alignment * alignment
	}
	f.pad()
	for _, t := range tensors {
		if t.rows > 0 {
			halves := make([]uint16, len(t.data))
			for i, x := range t.data {
				halves[i] = half(x)
			}
			f.put(halves)
		} else {
			f.put(t.data)
		}
		f.pad()
	}
	return f.Bytes()
}

func (f *file) value(v any) {
	switch v := v.(type) {
	case uint32:
		f.put(uint32(typeU32))
		f.put(v)
	case float32:
		f.put(uint32(typeF32))
		f.put(v)
	case bool:
		f.put(uint32(typeBool))
		f.put(v)
	case string:
		f.put(uint32(typeText))
		f.text(v)
	case []string:
		f.put(uint32(typeArray))
		f.put(uint32(typeText))
		f.put(uint64(len(v)))
		for _, s := range v {
			f.text(s)
		}
	case []int32:
		f.put(uint32(typeArray))
		f.put(uint32(typeI32))
		f.put(uint64(len(v)))
		f.put(v)
	default:
		panic(fmt.Sprintf("tinymodel: no GGUF type for %T", v))
	}
}

// half converts x to IEEE binary16, rounding to nearest even; a value too small for a normal
// number becomes zero.
func half(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	exp := int(bits>>23&0xff) - 127 + 15
	frac := bits & 0x7fffff
	switch {
	case exp >= 31:
		return sign | 0x7c00
	case exp <= 0:
		return sign
	}
	h := uint32(exp)<<10 | frac>>13
	if rest := frac & 0x1fff; rest > 0x1000 || rest == 0x1000 && h&1 == 1 {
		h++
	}
	return sign | uint16(h)
}
