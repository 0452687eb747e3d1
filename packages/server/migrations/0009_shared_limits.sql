-- Limits over all sessions of a tenant, and labels that stick to a principal.

-- Salts the hashes below, so that they say nothing to anybody without it.
alter table tenants add column limit_salt text not null default gen_random_uuid()::text || gen_random_uuid()::text;

-- The tenant's, for sessions whose plan shares limits or whose labels stick; null for all others.
alter table sessions add column limit_salt text;

-- What was used of a limit within its window, for each key that it is counted for. The window is kept in parts.
create table shared_limit_counts (
  tenant_id  text not null,
  name       text not null,
  -- A salted hash of the limit and the key.
  id         text not null,
  -- The numbers of the parts in which something was used, and how much.
  buckets    bigint[] not null,
  amounts    numeric[] not null,
  -- The parts up to this one count no longer.
  past       bigint not null,
  used       numeric not null,
  -- What the last write was allowed to use; null: it counted something that had happened, or gave something back.
  bound      numeric,
  expires_at timestamptz not null,
  primary key (tenant_id, name, id),
  constraint shared_limit_kept check (used <= bound)
) with (fillfactor = 50);
create index shared_limit_counts_by_end on shared_limit_counts (expires_at);

-- Labels with which new sessions of a principal start.
create table sticky_labels (
  tenant_id text not null,
  -- A salted hash of the principal's id.
  owner     text not null,
  label     text not null,
  added_at  timestamptz not null,
  primary key (tenant_id, owner, label)
);
create index sticky_labels_by_time on sticky_labels (added_at);
