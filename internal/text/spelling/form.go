package spelling

import (
	"reflect"
	"time"
)

// Form describes the kind of value that can be read into a type: text, a list, keys with values.
func Form(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a duration as in 90s or 2h"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return Form(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "keys with values"
	}
	return "text"
}
