-- Governed sessions: the snapshot row, the records of each turn, the ledger, and content apart from it.
--
-- json and not jsonb: these values are written and read whole on every request, and jsonb would take them apart
-- and put them together again each time. No foreign keys between the tables of a session: every child row is written
-- by the statement that changes the session's row, and a check per row would lock that row once more.

-- Compiled plans by content. The same plan of two tenants is two rows.
create table plans (
  tenant_id        text not null references tenants,
  compiled_hash    text not null,
  compiled_session json not null,
  created_at       timestamptz not null default clock_timestamp(),
  primary key (tenant_id, compiled_hash)
);

-- The plan in force for an agent in an environment: sessions of this agent are created with it and no other.
create table approved_plans (
  tenant_id     text not null,
  agent         text not null,
  environment   text not null check (environment in ('development', 'staging', 'production')),
  compiled_hash text not null,
  approved_at   timestamptz not null default clock_timestamp(),
  primary key (tenant_id, agent, environment),
  foreign key (tenant_id, compiled_hash) references plans
);

-- One row per session: the fold of its ledger. Written whole by every change, under the guard of `revision`.
create table sessions (
  tenant_id        text not null references tenants,
  session_id       text not null,
  -- Goes up with every write of this row. A write names the revision that it was decided on.
  revision         bigint not null default 1,
  status           text not null check (status in ('ACTIVE', 'RECOVERING', 'COMPROMISED', 'KILLED')),
  state_version    bigint not null default 0,
  control_revision bigint not null default 0,
  fence            bigint not null,
  holder_id        text not null,
  lease_until      timestamptz not null,
  compiled_hash    text not null,
  plan_source      text not null check (plan_source in ('approved', 'client')),
  unmatched_policy text not null check (unmatched_policy in ('block', 'allow')),
  capture_level    text not null check (capture_level in ('metadata', 'redacted', 'full')),
  agent            text,
  environment      text,
  -- For the policy only: in no event, log or answer.
  principal        json,
  hash_salt        text not null,
  state            json not null,
  last_narrowing   json,
  -- The newest prepared request with tools while it is unused. An older one is void.
  prepared         json,
  ledger_seq       bigint not null,
  ledger_hash      text not null,
  last_event       text not null,
  workflow_id      text,
  role             text,
  -- Salted hash of the body that created the session: a repeated create must have the same.
  body_hash        text not null,
  created_at       timestamptz not null,
  updated_at       timestamptz not null,
  primary key (tenant_id, session_id)
) with (fillfactor = 50, toast_tuple_target = 8160);

create table prepared_requests (
  tenant_id           text not null,
  session_id          text not null,
  prepared_request_id text not null,
  -- What the request was bound to. A proposal is accepted only while the session still stands there.
  state_version       bigint not null,
  control_revision    bigint not null,
  fence               bigint not null,
  compiled_hash       text not null,
  -- Salted hash of the request's body: a repeated preflight must have the same.
  request_hash        text not null,
  with_tools          boolean not null,
  allowed             json not null,
  removed             json not null,
  -- Tools whose input invariants failed, without the values found. Null: none.
  input_failures      json,
  provider            text,
  model               text,
  -- Salted hash of all of the above, which the proposal's event names.
  digest              text not null,
  prepared_at         timestamptz not null,
  expires_at          timestamptz not null,
  -- Null: unused.
  consumed_at         timestamptz,
  primary key (tenant_id, session_id, prepared_request_id)
) with (fillfactor = 80);

-- One proposal per prepared request, by its key.
create table proposals (
  tenant_id           text not null,
  session_id          text not null,
  prepared_request_id text not null,
  proposal_id         text not null,
  seq                 bigint not null,
  fence               bigint not null,
  -- Salted hash of the body: only the same body may have the decisions back.
  body_hash           text not null,
  outcome             text not null,
  -- Without the values found and without remedies; those are content.
  decisions           json not null,
  cost                numeric not null,
  model               text,
  proposed_at         timestamptz not null,
  primary key (tenant_id, session_id, prepared_request_id)
);

create table pending_calls (
  tenant_id       text not null,
  session_id      text not null,
  pending_call_id text not null,
  proposal_id     text not null,
  call_id         text not null,
  tool_name       text not null,
  argument_hash   text not null,
  state           text not null default 'pending' check (state in ('pending', 'in_doubt', 'resolved')),
  proposed_at     timestamptz not null,
  resolved_at     timestamptz,
  primary key (tenant_id, session_id, pending_call_id)
) with (fillfactor = 80);

-- One receipt per pending call, by its key.
create table receipts (
  tenant_id         text not null,
  session_id        text not null,
  pending_call_id   text not null,
  seq               bigint not null,
  -- Salted hash of the receipt: the same one again gets the stored answer, another one a conflict.
  body_hash         text not null,
  outcome           text not null,
  evidence_level    text not null,
  at_level          boolean not null,
  -- The session was killed or compromised: evidence, without effect on its state.
  late              boolean not null,
  arguments_changed boolean not null,
  -- The batch that held this receipt committed its step.
  committed         boolean not null,
  argument_hash     text not null,
  result_hash       text,
  started_at        timestamptz,
  finished_at       timestamptz,
  error_code        text,
  -- Who decided the call's checkpoints, and how. The reasons they gave are content.
  approvals         json,
  recorded_at       timestamptz not null,
  primary key (tenant_id, session_id, pending_call_id)
);

-- What a former holder says about a call after its fence was raised. Evidence only, a few per call.
create table late_receipts (
  tenant_id       text not null,
  session_id      text not null,
  pending_call_id text not null,
  number          int not null,
  seq             bigint not null,
  fence           bigint not null,
  body_hash       text not null,
  outcome         text not null,
  evidence_level  text not null,
  argument_hash   text not null,
  result_hash     text,
  recorded_at     timestamptz not null,
  primary key (tenant_id, session_id, pending_call_id, number)
);

-- The ledger. Gap-free by session, chained by hash, without content.
create table session_events (
  tenant_id  text not null,
  session_id text not null,
  seq        bigint not null check (seq > 0),
  type       text not null,
  at         timestamptz not null,
  body       json not null,
  prev_hash  text not null,
  hash       text not null,
  primary key (tenant_id, session_id, seq)
);

-- What a session's capture level lets us keep, outside the chain, so that it can be erased and the chain still holds.
create table content (
  tenant_id  text not null,
  session_id text not null,
  kind       text not null check (kind in ('arguments', 'decisions', 'response', 'result', 'approval', 'reason')),
  -- The proposal or pending call that it belongs to.
  ref        text not null,
  body       json not null,
  created_at timestamptz not null,
  primary key (tenant_id, session_id, kind, ref)
);

-- Rows lie in the order of their time, so a few pages of summary find the old ones for retention.
create index prepared_requests_by_time on prepared_requests using brin (expires_at);
create index late_receipts_by_time on late_receipts using brin (recorded_at);
create index content_by_time on content using brin (created_at);
