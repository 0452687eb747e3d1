-- The whole schema, grouped by subject: tenants and keys, people, plans, sessions, workflows, captures and runs,
-- dashboard, jobs.
--
-- Two things hold throughout:
-- - `json` and `text`, not `jsonb`: values are written and read whole, and jsonb would parse and rebuild them each time.
--   Where every request writes, it is `text`, because even `json` is parsed on the way in; reads that need a member cast.
-- - No foreign keys and few checks on the tables that every request writes. One place writes each of those columns, in
--   the statement that changes the session, and PostgreSQL would repeat the check for every row.


-- # Tenants and keys

-- The customers of the service; every other row belongs to one.
create table tenants (
  tenant_id   text primary key,
  name        text not null,
  quota       text not null default 'free' check (quota in ('free', 'team', 'scale')),
  -- Null until the account has verified its e-mail address. Tenants made by an operator are verified at once.
  verified_at timestamptz,
  created_at  timestamptz not null default clock_timestamp()
);

-- API keys, by hash. The key itself is stored nowhere.
create table api_keys (
  tenant_id    text not null references tenants,
  key_id       text not null,
  -- The user who made the key; null if an operator made it.
  user_id      text,
  name         text not null,
  -- The first characters of the key, by which people tell keys apart.
  prefix       text not null,
  key_hash     bytea not null unique check (octet_length(key_hash) = 32),
  created_at   timestamptz not null default clock_timestamp(),
  last_used_at timestamptz,
  revoked_at   timestamptz,
  primary key (tenant_id, key_id)
);

-- Token buckets of the rate limiter. The owner is a tenant or, for routes before sign-in, a hashed address or e-mail.
-- Unlogged: after a crash every bucket is full again, which is harmless, and taking a token writes nothing to disk.
create unlogged table buckets (
  owner       text not null,
  bucket      text not null,
  tokens      double precision not null,
  refilled_at timestamptz not null,
  -- Whether the last request got its tokens. A refused request updates the row too, so that one statement can answer.
  taken       boolean not null,
  -- How many tokens the last request got: a busy process takes several at once.
  granted     integer not null default 1,
  primary key (owner, bucket)
) with (fillfactor = 50);


-- # People

-- People who sign in to the dashboard.
create table users (
  tenant_id         text not null references tenants,
  user_id           text not null,
  -- As typed, for sending mail; `email_key` is the normalized form it is looked up by.
  email             text not null,
  email_key         text not null unique,
  name              text,
  password_hash     text not null,
  email_verified_at timestamptz,
  created_at        timestamptz not null default clock_timestamp(),
  primary key (tenant_id, user_id)
);

-- Dashboard sign-ins.
create table refresh_tokens (
  tenant_id  text not null,
  refresh_id text not null,
  user_id    text not null,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  primary key (tenant_id, refresh_id),
  foreign key (tenant_id, user_id) references users
);
create index refresh_tokens_by_user on refresh_tokens (tenant_id, user_id) where revoked_at is null;
create index refresh_tokens_by_end on refresh_tokens (least(expires_at, coalesce(revoked_at, expires_at)));

-- Password reset and verification tokens: single use, and a newer one voids the older.
create table mail_tokens (
  tenant_id  text not null,
  token_id   text not null,
  user_id    text not null,
  kind       text not null check (kind in ('reset', 'verify')),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at    timestamptz,
  voided_at  timestamptz,
  primary key (tenant_id, token_id),
  foreign key (tenant_id, user_id) references users
);
create unique index mail_tokens_one_open on mail_tokens (tenant_id, user_id, kind)
  where used_at is null and voided_at is null;
create index mail_tokens_by_end on mail_tokens (expires_at);

-- Mail to send. Holds no secret: the token is made when the mail is.
create table mail_queue (
  tenant_id       text not null,
  mail_id         text not null,
  user_id         text not null,
  kind            text not null check (kind in ('reset', 'verify')),
  attempts        integer not null default 0,
  created_at      timestamptz not null,
  next_attempt_at timestamptz not null,
  sent_at         timestamptz,
  given_up_at     timestamptz,
  primary key (tenant_id, mail_id),
  foreign key (tenant_id, user_id) references users
);
create index mail_queue_due on mail_queue (next_attempt_at) where sent_at is null and given_up_at is null;
create index mail_queue_finished on mail_queue (created_at) where sent_at is not null or given_up_at is not null;

-- Who did what, when, from where.
create table audit_entries (
  tenant_id  text not null references tenants,
  audit_id   bigint generated always as identity,
  at         timestamptz not null,
  action     text not null,
  user_id    text,
  actor      text,
  -- The key that acted, with its name and prefix at that time.
  key_id     text,
  key_name   text,
  key_prefix text,
  ip         text,
  subject    text,
  detail     text,
  primary key (tenant_id, audit_id)
);


-- # Plans

-- Compiled plans by content. The same plan of two tenants is two rows.
create table plans (
  tenant_id        text not null references tenants,
  compiled_hash    text not null,
  compiled_session json not null,
  created_at       timestamptz not null default clock_timestamp(),
  -- Part of a proof, because a session was created with it or it was approved once. The others can be deleted some time
  -- after `used_at`.
  permanent        boolean not null default false,
  used_at          timestamptz not null default clock_timestamp(),
  primary key (tenant_id, compiled_hash)
);
create index plans_unused on plans (used_at) where not permanent;

-- The plan in force for an agent in an environment: its sessions are created with this plan and no other.
create table approved_plans (
  tenant_id     text not null,
  agent         text not null,
  environment   text not null check (environment in ('development', 'staging', 'production')),
  compiled_hash text not null,
  approved_at   timestamptz not null default clock_timestamp(),
  primary key (tenant_id, agent, environment),
  foreign key (tenant_id, compiled_hash) references plans
);

-- Plans as files, from draft to decision. The one in force is also in approved_plans.
create table governance_plans (
  tenant_id     text not null references tenants,
  plan_id       text not null,
  agent         text not null,
  environment   text not null check (environment in ('development', 'staging', 'production')),
  state         text not null check (state in ('draft', 'approved', 'superseded', 'rejected')),
  compiled_hash text not null,
  origin        text not null check (origin in ('learned', 'submitted')),
  files         json not null,
  contracts     integer not null,
  created_at    timestamptz not null,
  created_by    text,
  decided_at    timestamptz,
  decided_by    text,
  decided_why   text,
  primary key (tenant_id, plan_id)
);
create index governance_plans_by_time on governance_plans (tenant_id, created_at desc, plan_id desc);
create unique index governance_plans_one_approved on governance_plans (tenant_id, agent, environment)
  where state = 'approved';

-- Contracts that a person wrote or edited, by the plan they came with. Learning never changes them. They count unless
-- that plan is rejected.
create table customer_contracts (
  tenant_id  text not null,
  agent      text not null,
  tool_name  text not null,
  plan_id    text not null,
  file       text not null,
  text       text not null,
  written_at timestamptz not null,
  written_by text,
  primary key (tenant_id, agent, tool_name, plan_id)
);


-- # Sessions

-- What is fixed when a session is created, and its status, by which it is listed.
create table sessions (
  tenant_id        text not null references tenants,
  session_id       text not null,
  status           text not null,
  compiled_hash    text not null,
  plan_source      text not null,
  unmatched_policy text not null,
  capture_level    text not null,
  agent            text,
  environment      text,
  -- For the policy only: in no event, log or answer.
  principal        json,
  hash_salt        text not null,
  workflow_id      text,
  role             text,
  -- Salted hash of the body that created the session: a repeated create must have the same.
  body_hash        text not null,
  created_at       timestamptz not null,
  primary key (tenant_id, session_id)
);
-- Only columns that never change, and the status, which seldom does.
create index sessions_by_time on sessions (tenant_id, created_at desc, session_id desc);
create index sessions_by_agent on sessions (tenant_id, agent, created_at desc, session_id desc);
create index sessions_by_trouble on sessions (tenant_id, status, created_at desc, session_id desc)
  where status <> 'ACTIVE';
-- For the dashboard's search by the beginning of an id.
create index sessions_by_name on sessions (tenant_id, session_id text_pattern_ops);
create index sessions_by_workflow on sessions (tenant_id, workflow_id, session_id) where workflow_id is not null;

-- The current state of each session. Every request updates it, guarded by `revision`.
-- The columns are in the order of how often they change: PostgreSQL's log leaves out the unchanged end of a row.
create table session_heads (
  tenant_id   text not null,
  session_id  text not null,
  -- The hash of what was written last, an event or a prepared request. A write names the revision it was decided on.
  revision    text not null,
  lease_until timestamptz not null,
  -- JSON, as are the columns below: the head of the ledger, and what lists show of the session.
  facts       text not null,
  -- The newest prepared request with tools while it is unused.
  prepared    text,
  -- The fold of the session's events, without its recent calls.
  state       text not null,
  narrowing   text,
  -- The recent calls of the state.
  recent      text not null,
  primary key (tenant_id, session_id)
) with (fillfactor = 30, toast_tuple_target = 8160);

-- The ledger: without gaps in a session, chained by hash, without content.
-- A proposal has about two kilobytes, at which PostgreSQL would try to compress it: hence toast_tuple_target.
create table session_events (
  tenant_id   text not null,
  session_id  text not null,
  seq         bigint not null,
  type        text not null,
  at          timestamptz not null,
  body        text not null,
  prev_hash   text not null,
  hash        text not null,
  -- Of a proposal: the prepared request it used, its id and outcome, and its record, all outside of the chain.
  request_id  text,
  proposal_id text,
  outcome     text,
  record      text,
  primary key (tenant_id, session_id, seq)
) with (toast_tuple_target = 8160);
-- One proposal for each prepared request.
create unique index session_events_by_request on session_events (tenant_id, session_id, request_id)
  where request_id is not null;
-- Rows are stored in the order of their time, so a few summaries of pages find those of a period.
create index session_events_by_time on session_events using brin (at) with (pages_per_range = 16, autosummarize = on);

-- Unused prepared requests other than the session's newest: superseded ones, and those without tools, which never
-- become the newest.
create table superseded_requests (
  tenant_id           text not null,
  session_id          text not null,
  prepared_request_id text not null,
  expires_at          timestamptz not null,
  request             text not null,
  primary key (tenant_id, session_id, prepared_request_id)
);
create index superseded_requests_by_time on superseded_requests (expires_at);

-- One receipt for each pending call.
create table receipts (
  tenant_id       text not null,
  session_id      text not null,
  pending_call_id text not null,
  seq             bigint not null,
  record          text not null,
  primary key (tenant_id, session_id, pending_call_id)
);

-- What a former holder reports about a call after its fence was raised. Evidence only, a few for each call.
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
create index late_receipts_by_time on late_receipts (recorded_at);

-- What the capture level allows to be stored, outside of the chain, so that it can be erased and the chain still holds.
create table content (
  tenant_id  text not null,
  session_id text not null,
  -- arguments, decisions, response, result, approval or reason.
  kind       text not null,
  -- The proposal or pending call that it belongs to.
  ref        text not null,
  body       json not null,
  created_at timestamptz not null,
  primary key (tenant_id, session_id, kind, ref)
);
create index content_by_time on content (created_at);

-- Sessions whose content was erased, up to which event: another process may still hold a capture of an earlier
-- proposal, and must not write it any more.
create table erased_sessions (
  tenant_id  text not null,
  session_id text not null,
  seq        bigint not null,
  erased_at  timestamptz not null,
  primary key (tenant_id, session_id)
);

-- The newest blocked calls of a tenant. A table, not a partial index of session_events: PostgreSQL would plan the
-- condition of that index again for every event, blocked or not.
create table blocked_proposals (
  tenant_id  text not null,
  at         timestamptz not null,
  session_id text not null,
  seq        bigint not null,
  primary key (tenant_id, at, session_id, seq)
);

-- Proposals, read from their events.
create view proposals as
select tenant_id, session_id, request_id as prepared_request_id, proposal_id, seq, outcome, at as proposed_at,
  (record::json ->> 'fence')::bigint as fence, record::json ->> 'bodyHash' as body_hash,
  record::json -> 'decisions' as decisions, record::json ->> 'cost' as cost, record::json ->> 'model' as model,
  record::json -> 'request' as request
from session_events where request_id is not null;

-- Allowed calls, read from the decisions of their proposals.
create view pending_calls as
select p.tenant_id, p.session_id, d ->> 'pending_call_id' as pending_call_id, p.proposal_id, d ->> 'call_id' as call_id,
  d ->> 'tool_name' as tool_name, d ->> 'argument_hash' as argument_hash, p.proposed_at,
  case when r.record is not null then 'resolved' else (
    select c ->> 'state' from session_heads h, json_array_elements(h.state::json #> '{open,calls}') c
    where h.tenant_id = p.tenant_id and h.session_id = p.session_id
      and c ->> 'pending_call_id' = d ->> 'pending_call_id'
  ) end as state, (r.record::json ->> 'recorded_at')::timestamptz as resolved_at
from proposals p cross join json_array_elements(p.decisions) d
left join receipts r on r.tenant_id = p.tenant_id and r.session_id = p.session_id
  and r.pending_call_id = d ->> 'pending_call_id'
where d ->> 'pending_call_id' is not null;

-- Prepared requests. Each is in one place: the newest in the session's head, other unused ones in superseded_requests,
-- used ones with their proposal.
create view prepared_requests as
select tenant_id, session_id, prepared::json ->> 'id' as prepared_request_id, prepared::json as request,
  null::timestamptz as consumed_at
from session_heads where prepared is not null
union all
select tenant_id, session_id, prepared_request_id, request::json, null from superseded_requests
union all
select tenant_id, session_id, prepared_request_id, request, proposed_at from proposals;


-- # Workflows
--
-- A change of a workflow, its handoffs or its holds locks the workflow's row first, then sessions in the order of their
-- ids. A session's workflow_id never changes, so it may be read without a lock.

-- Several sessions under one definition.
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

-- Work that one session of a workflow offers to another.
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
  -- The most that it may delegate. Null: not bounded.
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
-- A session accepts one handoff in its life.
create unique index handoffs_by_holder on handoffs (tenant_id, to_session) where to_session is not null;
create index handoffs_by_giver on handoffs (tenant_id, from_session);
create index handoffs_waiting on handoffs (expires_at) where state = 'offered';
create index handoffs_with_note on handoffs (settled_at) where note is not null and settled_at is not null;

-- The resources that allowed calls work on, from the allow until their outcome.
create table resource_holds (
  tenant_id       text not null,
  workflow_id     text not null,
  session_id      text not null,
  pending_call_id text not null,
  key_hash        text not null,
  -- As written; null if the session stores metadata only.
  key_text        text,
  mode            text not null check (mode in ('exclusive', 'shared')),
  held_at         timestamptz not null,
  -- Set when the session is killed: then the hold ends without an outcome.
  ends_at         timestamptz,
  primary key (tenant_id, workflow_id, session_id, pending_call_id, key_hash)
);
create index resource_holds_by_session on resource_holds (tenant_id, session_id);
create index resource_holds_ended on resource_holds (ends_at) where ends_at is not null;


-- # Captures and runs

-- Observed model calls.
create table captures (
  tenant_id       text not null references tenants,
  capture_id      text not null,
  agent           text not null,
  conversation_id text not null,
  -- The client's time of the call, by which a conversation is ordered.
  at              timestamptz not null,
  received_at     timestamptz not null default clock_timestamp(),
  capture_level   text not null check (capture_level in ('metadata', 'redacted', 'full')),
  tool_names      text[] not null,
  -- Null if no rule judged the calls.
  decision        text check (decision in ('allow', 'block')),
  -- The item, stripped to its level; the schemas of tools are in offered_tools.
  item            json not null,
  -- Made by the service from one of its own sessions: receipts will say what became of the calls.
  governed        boolean not null default false,
  primary key (tenant_id, capture_id)
);
create index captures_by_agent on captures (tenant_id, agent, at desc, capture_id desc);
create index captures_by_time on captures (tenant_id, at desc, capture_id desc);
create index captures_by_age on captures (received_at);

-- Captures to learn from, by the batches they came in. Apart from `captures`, because marking one there would write its
-- row again, with an entry in each of its indexes.
create table unlearned_captures (
  tenant_id   text not null,
  agent       text not null,
  -- Where receipts are expected, learning waits for them.
  due_at      timestamptz not null,
  -- One of the ids, so that two batches of one moment are two rows.
  first_id    text not null,
  capture_ids text[] not null,
  captures    integer not null,
  primary key (tenant_id, agent, due_at, first_id)
);

-- Every agent that was ever observed. Learning locks the row, so that instances take turns by agent.
create table learned_agents (
  tenant_id text not null references tenants,
  agent     text not null,
  -- Known values are stored as hashes over this salt.
  salt      text not null,
  primary key (tenant_id, agent)
);

-- What was learned about a tool. The summary is bounded, so that a capture costs the same however long the history.
create table learned_tools (
  tenant_id  text not null,
  agent      text not null,
  tool_name  text not null,
  summary    json not null,
  samples    bigint not null,
  -- Calls that a rule judged, and those of them that it allowed.
  judged     bigint not null default 0,
  passed     bigint not null default 0,
  updated_at timestamptz not null,
  primary key (tenant_id, agent, tool_name)
);

-- The newest schema of each tool that was offered to a model.
create table offered_tools (
  tenant_id text not null,
  agent     text not null,
  tool_name text not null,
  schema    json,
  seen_at   timestamptz not null,
  primary key (tenant_id, agent, tool_name)
);

-- Backtests of a plan.
create table runs (
  tenant_id     text not null references tenants,
  run_id        text not null,
  status        text not null check (status in ('queued', 'running', 'done', 'failed')),
  compiled_hash text not null,
  -- The captured sessions it judges. Null for fixtures, which are judged at once.
  against       json,
  body_hash     text not null,
  sessions_done integer not null default 0,
  report        json,
  error         text,
  -- The instance that runs it must renew this, or another instance takes over.
  claimed_until timestamptz,
  created_at    timestamptz not null,
  finished_at   timestamptz,
  primary key (tenant_id, run_id)
);
create index runs_by_time on runs (tenant_id, created_at desc, run_id desc);
create index runs_waiting on runs (created_at) where status in ('queued', 'running');


-- # Dashboard

-- Labels and block reasons by which a session can be found: one row for each that it ever had.
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

-- The time up to which decisions and sessions of all tenants are counted. Newer ones are counted when asked for.
create table decision_counts_until (
  only_row boolean primary key default true check (only_row),
  until    timestamptz not null
);
insert into decision_counts_until (until) values ('2000-01-01T00:00:00Z');


-- # Jobs

-- When each periodic job ran last, on whichever instance. The row is also the lock of the job.
create table jobs (
  name        text primary key,
  last_run_at timestamptz not null default '-infinity'
);
