create table meta (
	key   text primary key,
	value text not null
) strict;

create table jobs (
	n        integer primary key autoincrement,
	id       text not null unique,
	workflow text not null,
	agent    text not null,
	title    text not null,
	dir      text not null,
	model    text not null,
	input    blob,
	key      text not null,
	status   text not null,
	reason   text not null,
	output   blob,
	cancel   integer not null default 0,
	crashes  integer not null default 0,
	created  integer not null,
	started  integer not null default 0,
	updated  integer not null,
	finished integer not null default 0,
	owner    text not null default '',
	token    integer not null default 0,
	expires  integer not null default 0, -- wall clock, for other boots of the machine and for people
	boot     text not null default '',
	ticks    integer not null default 0, -- nanoseconds since that boot at which the lease is over
	seq      integer not null default 0  -- number of the last event
) strict;
create unique index jobs_key on jobs (key) where key <> '';

create table steps (
	job      text not null,
	path     text not null,
	kind     text not null,
	name     text not null,
	sum      text not null,
	input    text not null default '', -- digest, of steps whose input is kept
	begun    integer not null,
	deadline integer not null,
	done     integer not null default 0,
	output   blob,
	big      text not null default '', -- digest of an output that is too big for the row
	failure  blob,
	primary key (job, path)
) strict;

create table checkpoints (
	job   text not null,
	scope text not null,
	next  integer not null,
	value blob,
	primary key (job, scope)
) strict;

create table signals (
	n     integer primary key autoincrement,
	job   text not null,
	name  text not null,
	value blob,
	sent  integer not null
) strict;
create index signals_job on signals (job, n);

create table blobs (
	digest text primary key,
	data   blob not null
) strict;

-- Which job needs which blob. keep is 0 where only a step's output does: such
-- a blob goes when a checkpoint forgets the step.
create table refs (
	job    text not null,
	digest text not null,
	keep   integer not null,
	primary key (job, digest)
) strict, without rowid;
create index refs_digest on refs (digest);

create table events (
	n    integer primary key autoincrement, -- in the order of commits; never used again
	job  text not null,
	seq  integer not null,
	data blob not null,
	unique (job, seq)
) strict;
