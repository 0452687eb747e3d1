-- Captures, what was learned from them, plans that wait for a person, and backtests.

create table captures (
  tenant_id       text not null references tenants,
  capture_id      text not null,
  agent           text not null,
  conversation_id text not null,
  -- The client's time of the call, by which a conversation is put in order.
  at              timestamptz not null,
  received_at     timestamptz not null default clock_timestamp(),
  capture_level   text not null check (capture_level in ('metadata', 'redacted', 'full')),
  tool_names      text[] not null,
  -- Null where no rule judged the calls.
  decision        text check (decision in ('allow', 'block')),
  -- The item, stripped to its level; schemas of tools lie in offered_tools.
  item            json not null,
  learned         boolean not null default false,
  primary key (tenant_id, capture_id)
);
create index captures_unlearned on captures (tenant_id, agent) where not learned;
create index captures_by_agent on captures (tenant_id, agent, at desc, capture_id desc);
create index captures_by_time on captures (tenant_id, at desc, capture_id desc);
create index captures_by_age on captures using brin (received_at);

-- One row for each agent that was ever observed. Learning locks it, so that instances take turns by agent.
create table learned_agents (
  tenant_id text not null references tenants,
  agent     text not null,
  -- Known values are kept as hashes under it.
  salt      text not null,
  primary key (tenant_id, agent)
);

-- The summary of a tool has a bounded size, so that the cost of a capture does not grow with history.
create table learned_tools (
  tenant_id  text not null,
  agent      text not null,
  tool_name  text not null,
  summary    json not null,
  samples    bigint not null,
  -- Calls that a rule judged, and those it let pass.
  judged     bigint not null default 0,
  passed     bigint not null default 0,
  updated_at timestamptz not null,
  primary key (tenant_id, agent, tool_name)
);

create table offered_tools (
  tenant_id text not null,
  agent     text not null,
  tool_name text not null,
  schema    json,
  seen_at   timestamptz not null,
  primary key (tenant_id, agent, tool_name)
);

-- Contracts that a person wrote or edited: learning never touches them again.
create table customer_contracts (
  tenant_id  text not null,
  agent      text not null,
  tool_name  text not null,
  file       text not null,
  text       text not null,
  written_at timestamptz not null,
  written_by text,
  primary key (tenant_id, agent, tool_name)
);

-- Plans as files, from draft to decision. The one in force is also named by approved_plans.
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
create unique index governance_plans_one_approved on governance_plans (tenant_id, agent, environment) where state = 'approved';

create table runs (
  tenant_id     text not null references tenants,
  run_id        text not null,
  status        text not null check (status in ('queued', 'running', 'done', 'failed')),
  compiled_hash text not null,
  -- What it judges: captured sessions of an agent. Null for fixtures, which are judged at once.
  against       json,
  body_hash     text not null,
  report        json,
  error         text,
  -- Whoever runs it must say so again before this time, or another instance takes it.
  claimed_until timestamptz,
  created_at    timestamptz not null,
  finished_at   timestamptz,
  primary key (tenant_id, run_id)
);
create index runs_by_time on runs (tenant_id, created_at desc, run_id desc);
create index runs_waiting on runs (created_at) where status in ('queued', 'running');
