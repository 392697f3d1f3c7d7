package sandbox

// Choose finds the level for a request. Each level is tried once per process,
// by running a command under it; again if the host had too little for that.
func Choose(asked Level) Report {
	r := Report{Asked: asked}
	switch asked {
	case Off:
		r.Level = Off
		return r
	case Auto, "":
		r.Asked = Auto
		for _, l := range order {
			f := try(l)
			r.Tried = append(r.Tried, f)
			if f.OK {
				r.Level = l
				return r
			}
			if f.short != nil {
				return r // a better level than the next may be had
			}
		}
	default:
		f := try(asked)
		r.Tried = []Finding{f}
		if f.OK {
			r.Level = asked
		}
	}
	return r
}

// Survey tries every level that this system might have.
func Survey() []Finding {
	var out []Finding
	for _, l := range order {
		out = append(out, try(l))
	}
	return out
}
