-- Workflows: several sessions under one definition, the handoffs between them, and what their calls hold.
--
-- Whoever changes a workflow, its handoffs or its holds locks the workflow's row first, then sessions in the order of
-- their ids. A session's workflow_id never changes, so that it may be read without a lock.

create table workflows (
  tenant_id       text not null references tenants,
  workflow_id     text not null,
  status          text not null default 'ACTIVE' check (status in ('ACTIVE', 'KILLED')),
  definition      json not null,
  definition_hash text not null,
  -- Keys of resources are compared and logged as hashes over this salt.
  key_salt        text not null,
  ledger_seq      bigint not null,
  ledger_hash     text not null,
  created_at      timestamptz not null,
  primary key (tenant_id, workflow_id)
);

create index workflows_by_time on workflows (tenant_id, created_at desc, workflow_id desc);
create index sessions_by_workflow on sessions (tenant_id, workflow_id, session_id) where workflow_id is not null;

-- The ledger of a workflow, chained like that of a session.
create table workflow_events (
  tenant_id   text not null,
  workflow_id text not null,
  seq         bigint not null check (seq > 0),
  type        text not null,
  at          timestamptz not null,
  body        json not null,
  prev_hash   text not null,
  hash        text not null,
  primary key (tenant_id, workflow_id, seq)
);

create table handoffs (
  tenant_id    text not null,
  workflow_id  text not null,
  handoff_id   text not null,
  from_session text not null,
  from_role    text not null,
  to_role      text not null,
  -- Null until a session has joined with it.
  to_session   text,
  state        text not null default 'offered'
    check (state in ('offered', 'accepted', 'completed', 'reclaimed', 'expired')),
  -- The most that the receiving session may use. Null: not bounded.
  tools        json,
  -- The most that it may hand on. Null: not bounded.
  bound        json,
  -- Content: erased with that of the session that offered.
  note         text,
  labels       json not null,
  -- Salted hash of the offer: a repeated offer must have the same.
  body_hash    text not null,
  offered_at   timestamptz not null,
  expires_at   timestamptz not null,
  settled_at   timestamptz,
  primary key (tenant_id, workflow_id, handoff_id)
);

-- A session takes one handoff in its life.
create unique index handoffs_by_holder on handoffs (tenant_id, to_session) where to_session is not null;
create index handoffs_by_giver on handoffs (tenant_id, from_session);
create index handoffs_waiting on handoffs (expires_at) where state = 'offered';
create index handoffs_with_note on handoffs (settled_at) where note is not null and settled_at is not null;

-- What allowed calls work on, from the allow until their outcome.
create table resource_holds (
  tenant_id       text not null,
  workflow_id     text not null,
  session_id      text not null,
  pending_call_id text not null,
  key_hash        text not null,
  -- As written; null where the session keeps metadata only.
  key_text        text,
  mode            text not null check (mode in ('exclusive', 'shared')),
  held_at         timestamptz not null,
  -- Set when the session is killed: then the hold ends without an outcome.
  ends_at         timestamptz,
  primary key (tenant_id, workflow_id, session_id, pending_call_id, key_hash)
);

create index resource_holds_by_session on resource_holds (tenant_id, session_id);
create index resource_holds_ended on resource_holds (ends_at) where ends_at is not null;
