-- What steps came to that were tried again since: see flow.Reopening. unknown is 1 where
-- nobody knows whether the attempt happened.
create table attempts (
	job     text not null,
	path    text not null,
	n       integer not null, -- from 1
	kind    text not null,
	name    text not null,
	begun   integer not null,
	output  blob, -- if it lay in the row
	failure blob,
	unknown integer not null,
	primary key (job, path, n)
) strict;
