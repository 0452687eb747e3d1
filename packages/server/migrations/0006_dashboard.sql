-- What the dashboard reads: facts of a session beside its state, ways to find it, and decisions summed over time.

-- Written with the session's row. None of these is in an index, so that writes of the row stay heap-only.
alter table sessions
  add column allowed_calls integer not null default 0,
  add column blocked_calls integer not null default 0,
  add column last_reason   text;

-- Only columns that never change, and a status that seldom does.
create index sessions_by_time on sessions (tenant_id, created_at desc, session_id desc);
create index sessions_by_agent on sessions (tenant_id, agent, created_at desc, session_id desc);
create index sessions_by_trouble on sessions (tenant_id, status, created_at desc, session_id desc) where status <> 'ACTIVE';
create index sessions_by_name on sessions (tenant_id, session_id collate "C");

-- By which labels and block reasons a session can be found: one row for each that it ever had.
create table session_facets (
  tenant_id  text not null,
  kind       text not null check (kind in ('label', 'reason')),
  value      text not null,
  created_at timestamptz not null,
  session_id text not null,
  primary key (tenant_id, kind, value, created_at, session_id)
);

-- Decisions by minute and by hour. Reason '' counts allowed calls; agent '' stands for none.
create table decision_counts (
  tenant_id text not null,
  grain     text not null check (grain in ('minute', 'hour')),
  at        timestamptz not null,
  agent     text not null,
  reason    text not null,
  calls     integer not null,
  primary key (tenant_id, grain, at, agent, reason)
);

-- Sessions that began in an hour.
create table session_counts (
  tenant_id text not null,
  hour      timestamptz not null,
  agent     text not null,
  sessions  integer not null,
  primary key (tenant_id, hour, agent)
);

-- Up to here decisions and sessions of all tenants are counted; what is newer is counted when it is asked for.
create table decision_counts_until (
  only_row boolean primary key default true check (only_row),
  until    timestamptz not null
);
insert into decision_counts_until (until) values ('2000-01-01T00:00:00Z');

create index proposals_by_time on proposals using brin (proposed_at) with (pages_per_range = 16, autosummarize = on);
