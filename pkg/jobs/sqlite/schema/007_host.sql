-- What the program that runs a job must know of it. Of jobs before this, a file has it.
alter table jobs add column host blob;
