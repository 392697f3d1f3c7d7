package secret

// A class is a set of bytes.
type class [256]bool

func set(s string) *class {
	c := new(class)
	for i := 0; i < len(s); i++ {
		c[s[i]] = true
	}
	return c
}

const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	letters = lower + upper
)

var (
	alnum   = set(letters + digits)
	caps    = set(upper + digits)
	hexa    = set("abcdef" + digits)
	url64   = set(letters + digits + "-_")
	std64   = set(letters + digits + "+/=")
	dotted  = set(letters + digits + "-_.")
	slashed = set(letters + digits + "/")
	token68 = set(letters + digits + "-._~+/=")
	ident   = set(letters + digits + "_.-")
	spaces  = set(" \t")
)

// not is every printable byte without those of s; what is not ASCII counts as
// printable.
func not(s string) *class {
	c := new(class)
	out := set(s)
	for b := 0x21; b < 256; b++ {
		c[b] = b != 0x7f && !out[b]
	}
	return c
}

// A matcher drops the rest of a secret whose beginning was enough to know it.
type matcher struct {
	class *class
	armor *armor
}

func (e *matcher) on() bool { return e.class != nil || e.armor != nil }

// match returns how many bytes of s belong to the secret and turns itself off
// if the secret ended in s.
func (e *matcher) match(s string) int {
	if e.armor != nil {
		n, done := e.armor.match(s)
		if done {
			e.armor = nil
		}
		return n
	}
	for i := 0; i < len(s); i++ {
		if !e.class[s[i]] {
			e.class = nil
			return i
		}
	}
	return len(s)
}

// maxArmor bounds a private key, in bytes.
const maxArmor = 16 << 10

// An armor is the state within a block such as -----BEGIN PRIVATE KEY-----.
type armor struct {
	size   int
	dashes int  // in a row
	tails  int  // rows of five so far
	last   byte // before the next
	text   bool // something other than blanks stands on this line
}

var armored = set(letters + digits + "+/=\n\r\t \\\":,-|")

// match follows a block as it stands in a file, a diff, a listing with line
// numbers or a string literal. It ends behind the tail line, or where nothing
// of a key can stand.
func (a *armor) match(s string) (int, bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		inner := a.tails == 0 && c == ' ' && a.text && a.last != ':' && a.last != ','
		if !armored[c] || inner || a.size >= maxArmor || a.tails == 1 && c == '\n' {
			return i, true
		}
		a.size++
		if c == '-' {
			a.dashes++
		} else {
			a.dashes = 0
		}
		if a.dashes == 5 {
			if a.tails++; a.tails == 2 {
				return i + 1, true
			}
		}
		switch c {
		case '\n':
			a.text = false
		case ' ', '\t', '-':
		default:
			a.text = true
		}
		a.last = c
	}
	return len(s), false
}
