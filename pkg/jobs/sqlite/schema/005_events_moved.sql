-- Without row ids, events lay in inner pages of their tree, too, and those of more than 1,000
-- bytes each had a page of their own beside it.
alter table events rename to events_before;
create table events (
	job  text not null,
	seq  integer not null,
	data blob not null,
	primary key (job, seq)
) strict;
insert into events (job, seq, data) select job, seq, data from events_before order by job, seq;
drop table events_before;
