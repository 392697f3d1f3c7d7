package permit

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// wrappers are programs that run the command that their operands are, in the
// form of options.txt. What ^ marks changes the directory.
var wrappers = sync.OnceValue(func() map[string]*spec { return mustParse(wrappersText) })

const wrappersText = `
env: @assigns -i -0 -v -u= -C=^ --ignore-environment --unset= --chdir=^
nohup,busybox,toybox,builtin,unbuffer,fakeroot,chronic,linux32,linux64,i386,x86_64: -R -v
setsid: -c -f -w --fork --wait --ctty
nice: -n= -# --adjustment=
ionice: -t -c= -n=
time: -p -v
timeout: @skip -v -s= -k= --foreground --preserve-status --verbose --signal= --kill-after=
stdbuf: -i= -o= -e=
command: -p
exec: -c -l -a=
xargs: -0 -r -t -p -x -n= -P= -I= -L= -d= -E= -s= -a= --null --no-run-if-empty --verbose --max-args= --max-procs= --replace= --delimiter= --max-lines=
watch: @joins -n= -d -g -e -t -x -c -b --interval= --differences --chgexit --errexit --no-title --exec --color --beep
flock: @skip @separate -x -s -n -u -e -o -F -w= -E= -c --nonblock --exclusive --shared --close --timeout= --wait= --command
chrt: @skip -b -f -i -o -r -R -v -a --batch --fifo --idle --other --rr
taskset: @skip -c -a --cpu-list
setarch: @skip -R -L -B -3 -v --addr-no-randomize
strace,ltrace: @separate -f -q -c -C -t -T -v -x -y -i -r -e= -s= -o= -u= -E= -a= -O= -S= -P=
nsenter: @separate -t= -a -m -u -i -n -p -U -r -F --target= --all --mount --uts --ipc --net --pid --user --no-fork --preserve-credentials
unshare: @separate -r -m -n -p -f -U -i -u -c -C -T --map-root-user --map-current-user --mount --net --pid --fork --user --ipc --uts --mount-proc --kill-child
chroot,faketime: @skip @separate
setpriv: @separate --reuid= --regid= --clear-groups --keep-groups --init-groups --no-new-privs --bounding-set= --inh-caps= --ambient-caps= --groups= --pdeathsig=
caffeinate: -d -i -m -s -u -t=
sudo: @assigns @separate -n -E -H -b -k -S -A -i -s -u= -g= -h= -p= -C= -r= -t= -T= -D=^ -R=^
doas: @separate -n -u= -C=
`

// runners start programs in ways that are not read here. Editors do by their own commands, which come
// from options, files and the standard input.
var runners = set(`parallel sem ssh mosh autossh sshpass pdsh dsh pssh npx bunx pnpx uvx pipx at batch crontab tmux screen dtach abduco entr watchexec nodemon onchange concurrently
	hyperfine multitime systemd-run start-stop-daemon daemonize expect osascript make-kpkg dbus-run-session dbus-launch xvfb-run valgrind gdb lldb rr uftrace heaptrack kcov perf rlwrap
	firejail bwrap nsjail minijail0 systemd-nspawn proot fakechroot runuser su sg newgrp pkexec run0 gosu su-exec setuidgid chpst softlimit envdir envuidgid cgexec numactl runcon aa-exec capsh
	script cpulimit prlimit choom timelimit eatmydata torsocks tsocks proxychains proxychains4 tini dumb-init catatonit ifne mispipe pee lckdo retry dotenv cross-env env-cmd foreman honcho
	gfind genv gxargs gtimeout gnice gnohup gstdbuf gchroot gtime wine qemu-x86_64 qemu-aarch64
	vi vim nvim view ex ed red vimdiff vimtutor gvim emacs emacsclient nano pico joe jed mg micro hx helix kak kakoune m4 dc gnuplot octave R maxima`)

// launchers are subcommands that do, of programs whose other ones do not.
var launchers = sync.OnceValue(func() [][]string {
	return phrases(`
kubectl exec, kubectl run, kubectl debug, kubectl attach, oc exec, oc run, oc debug, oc rsh, ctr run, ctr task exec, crictl exec, lxc exec, incus exec, machinectl shell, vagrant ssh,
flatpak run, snap run, toolbox run, distrobox enter, distrobox-enter, nix run, nix shell, nix develop, nix-shell, guix shell, guix environment, direnv exec, aws-vault exec, chamber exec,
op run, doppler run, infisical run, heroku run, heroku local, poetry run, pipenv run, uv run, uv tool run, pdm run, hatch run, rye run, conda run, mamba run, micromamba run, bundle exec,
mise exec, mise x, mise run, asdf exec, rbenv exec, pyenv exec, nodenv exec, nvm exec, nvm run, fnm exec, volta run, rustup run, coverage run, gcloud compute ssh, ansible -a, dotnet exec`)
})

func phrases(text string) (out [][]string) {
	for phrase := range strings.SplitSeq(text, ",") {
		out = append(out, strings.Fields(phrase))
	}
	return out
}

// shells lists the shells whose text is read: as a POSIX shell and as bash would.
var shells = set(`sh bash dash ash rbash`)

var systemDirs = set(`/bin /usr/bin /sbin /usr/sbin /usr/local/bin`)

var assignment = lazyregexp.New(`^[^=]*=`)

// command notes a simple command and those that it runs.
func (s *script) command(words []word, depth int) {
	name := words[0]
	c := command{words: words}
	switch {
	case depth > maxDepth:
		s.obscure("it runs programs through too many others")
		return
	case !name.known() || name.text == "":
		s.obscure("the name of a program is made up at run time")
		s.commands = append(s.commands, c)
		return
	}
	base := path.Base(name.text)
	c.risks = risks(base, words)
	c.hides = hides(base, c)
	if !s.builtins(base, &c) {
		switch {
		case evaluators[base]:
			s.obscure("it uses %s, which runs what is made up at run time", base)
		case shells[base]:
			s.shell(&c, depth)
		case base == "find":
			s.find(words, depth)
		case base == "su" || base == "runuser" || base == "script":
			s.quoted(words, depth)
		case base == "command" && len(words) > 1 && (words[1].text == "-v" || words[1].text == "-V"):
			c.free = true
		case wrappers()[base] != nil:
			s.wrapped(wrappers()[base], base, &c, depth)
		}
	}
	// A program of that name elsewhere is another program.
	if dir := path.Dir(name.text); strings.Contains(name.text, "/") && dir != "/bin" && dir != "/usr/bin" {
		c.free = false
		if c.hides == "" && !systemDirs[dir] {
			c.hides = fmt.Sprintf("what %s runs cannot be read", name.text)
		}
	}
	s.commands = append(s.commands, c)
}

func (s *script) builtins(base string, c *command) bool {
	free, known := s.builtin(base, c.words)
	c.free = free
	return known
}

// hides reports why what a command runs cannot be read, "" if it can.
func hides(base string, c command) string {
	p := programs()[base]
	switch {
	case runners[base] || slices.ContainsFunc(launchers(), func(phrase []string) bool { return loosely(phrase, c.words) != none }):
		return fmt.Sprintf("what %s runs is not read here", base)
	case p != nil && p.script && !shells[base] && !slices.Equal(texts(c.words[1:]), []string{"--version"}):
		return fmt.Sprintf("what %s runs cannot be read", base)
	}
	for _, r := range c.risks {
		if r.starts && r.at < len(c.words) {
			return fmt.Sprintf("%s with %s may run what cannot be read", base, c.words[r.at])
		}
	}
	if p == nil && !anywhere[base] && slices.ContainsFunc(c.words[1:], func(w word) bool { return w.known() && shells[path.Base(w.text)] }) {
		return fmt.Sprintf("what %s runs is not read here", base)
	}
	return ""
}

func texts(words []word) []string {
	var out []string
	for _, w := range words {
		out = append(out, w.text)
	}
	return out
}

// mayWrap reports whether the command may run what its words are, as far as is
// known: it is none whose words are data.
func (c command) mayWrap() bool {
	if !c.words[0].known() {
		return false
	}
	base := path.Base(c.words[0].text)
	return !c.free && !anywhere[base] && programs()[base] == nil
}

// unread explains why a part of the script cannot be judged, "" if all of it can.
func (s *script) unread() string {
	if len(s.opaque) > 0 {
		return s.opaque[0]
	}
	for _, c := range s.commands {
		if c.hides != "" {
			return c.hides
		}
	}
	return ""
}

func inside(dir string) bool {
	dir = path.Clean(dir)
	return dir != "-" && !path.IsAbs(dir) && dir != ".." && !strings.HasPrefix(dir, "../") && !strings.HasPrefix(dir, "-")
}

// wrapped notes the command that a wrapper runs.
func (s *script) wrapped(p *spec, base string, c *command, depth int) {
	words := c.words
	i := p.first(words, 1, s)
	if i >= 0 && p.skip {
		if i++; i < len(words) && strings.HasPrefix(words[i].text, "-") {
			i = p.first(words, i, s) // flock FILE -c TEXT, setarch ARCH -R COMMAND
		}
	}
	for i >= 0 && i < len(words) && p.assigns && assignment.MatchString(words[i].text) {
		name, _, _ := strings.Cut(words[i].text, "=")
		s.variable(name)
		i++
	}
	switch {
	case i < 0:
		s.obscure("what %s runs cannot be read", base)
		return
	case i >= len(words):
		// env alone prints the environment; xargs alone echoes.
		c.free = base == "exec" || base == "command"
		return
	}
	c.free = !p.separate
	inner := slices.Clone(words[i:])
	switch {
	case p.joins, base == "flock" && slices.ContainsFunc(words[1:i], func(w word) bool { return w.text == "-c" || w.text == "--command" }):
		s.joined(base, inner, depth)
		return
	case base == "xargs":
		inner = append(inner, word{spread: true})
		if slices.ContainsFunc(words[1:i], func(w word) bool {
			return strings.HasPrefix(w.text, "-I") || strings.HasPrefix(w.text, "--replace")
		}) {
			for k := range inner {
				inner[k] = word{spread: true} // any of them may be the input
			}
		}
	}
	s.command(inner, depth+1)
}

// joined reads words that a program joins to shell text.
func (s *script) joined(base string, words []word, depth int) {
	if slices.ContainsFunc(words, func(w word) bool { return !w.known() }) {
		s.obscure("what %s runs is made up at run time", base)
		return
	}
	s.parse(strings.Join(texts(words), " "), depth+1)
}

// quoted reads the text behind -c of a program that has it run by a shell.
func (s *script) quoted(words []word, depth int) {
	for i := 1; i < len(words); i++ {
		text := words[i].text
		if value, ok := strings.CutPrefix(text, "--command="); ok {
			s.joined(words[0].text, []word{{text: value, static: words[i].known()}}, depth)
		} else if (text == "--command" || strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.HasSuffix(text, "c")) && i+1 < len(words) {
			s.joined(words[0].text, words[i+1:i+2], depth)
		}
	}
}

// first is the index of the first operand from the word at i on, -1 if an
// option is not known. An option that changes the directory is noted.
func (p *spec) first(words []word, i int, s *script) int {
	for ; i < len(words); i++ {
		w := words[i]
		switch {
		case !w.known() && w.mayBeOption():
			return -1
		case w.known() && w.text == "--":
			return i + 1
		case !w.known() || len(w.text) < 2 || w.text[0] != '-':
			return i
		}
		o, _, value, ok := p.find(w.text)
		if !ok {
			return -1
		}
		if o&starts != 0 {
			s.moves = true
		}
		if o&takesValue != 0 && value == "" && !strings.HasSuffix(w.text, "=") {
			i++
		}
	}
	return len(words)
}

// shell reads sh -c TEXT.
func (s *script) shell(c *command, depth int) {
	words := c.words
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case !w.known():
			s.obscure("what a shell runs is made up at run time")
			return
		case w.text == "" || w.text[0] != '-' && w.text[0] != '+' || w.text == "-" || w.text == "--":
			c.hides = "what is in a file that a shell runs cannot be read"
			return
		case strings.HasPrefix(w.text, "--") || w.text[0] == '+' || strings.Trim(w.text[1:], "ceuxn") != "":
			s.obscure("a shell is started with the option %s", w.text)
			return
		case !strings.Contains(w.text, "c"):
			continue
		}
		if i+1 >= len(words) || !words[i+1].known() || strings.HasPrefix(words[i+1].text, "-") {
			s.obscure("what a shell runs is made up at run time")
			return
		}
		s.parse(words[i+1].text, depth+1)
		c.free = true
		return
	}
	c.hides = "what a shell reads from its input cannot be read"
}

var finds = []string{"-exec", "-execdir", "-ok", "-okdir"}

// find notes what find runs for the files it finds.
func (s *script) find(words []word, depth int) {
	start := word{text: "./"} // what a name begins with that find found
	for _, w := range words[1:] {
		if strings.HasPrefix(w.text, "-") && w.known() {
			break
		}
		if w.mayBeOption() {
			start = word{spread: true}
		}
	}
	for i := 1; i < len(words); i++ {
		if !words[i].known() || !slices.Contains(finds, words[i].text) {
			continue
		}
		s.moves = s.moves || strings.HasSuffix(words[i].text, "dir")
		var inner []word
		for i++; i < len(words) && !endsExec(words, i); i++ {
			w := words[i]
			if w.text == "{}" {
				w = start
			} else if strings.Contains(w.text, "{}") {
				w = word{spread: true}
			}
			inner = append(inner, w)
		}
		if len(inner) > 0 {
			s.command(inner, depth+1)
		}
	}
}

// endsExec reports whether the word at i ends a command that find runs.
func endsExec(words []word, i int) bool {
	return words[i].known() && (words[i].text == ";" || words[i].text == "+" && words[i-1].text == "{}")
}

// ofFind returns the words of find without the words of the commands that it runs, which
// are judged by themselves; their places are kept.
func ofFind(words []word) []word {
	out := slices.Clone(words)
	inner := false
	for i, w := range words {
		switch {
		case inner && endsExec(words, i):
			inner = false
		case inner && !w.known(): // it may be the word that ends the command
		case inner:
			out[i] = word{text: "{}", static: true}
		default:
			inner = w.known() && slices.Contains(finds, w.text)
		}
	}
	return out
}
