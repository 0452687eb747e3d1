-- How many tokens the last take got: a process that is busy takes some at once.
alter table buckets add column granted integer not null default 1;
