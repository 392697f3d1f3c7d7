-- Who reads the events of all jobs goes on after a number, which must be that of the same
-- event for ever.
alter table events rename to events_before;
create table events (
	n    integer primary key autoincrement, -- in the order of commits; never used again
	job  text not null,
	seq  integer not null,
	data blob not null,
	unique (job, seq)
) strict;
insert into events (job, seq, data) select job, seq, data from events_before order by rowid;
drop table events_before;
