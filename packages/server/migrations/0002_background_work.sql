-- Work in the background is claimed for a while, counts its attempts before it is tried, and is set aside when they fail.

-- Characters of the item as JSON: batches are measured by them. Null for captures stored before this column existed.
alter table captures add column item_size integer;

-- One instance learns about an agent at a time. It writes only while the claim is its own.
alter table learned_agents
  add column claim_id text,
  add column claimed_until timestamptz;

-- Times this batch was begun without being learned, and why the last time failed.
alter table unlearned_captures
  add column attempts integer not null default 0,
  add column error text;

-- Captures whose learning failed again and again. They stay until their retention ends, and nobody tries them again
-- unless an operator says so.
create table set_aside_captures (
  tenant_id    text not null,
  capture_id   text not null,
  agent        text not null,
  attempts     integer not null,
  error        text not null,
  set_aside_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, capture_id),
  foreign key (tenant_id, capture_id) references captures on delete cascade
);

-- Times the run was begun since it last made progress.
alter table runs add column attempts integer not null default 0;
create index runs_given_up on runs (tenant_id, run_id) where status = 'failed' and attempts > 0;
