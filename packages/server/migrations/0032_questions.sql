-- Questions to people about calls, and their answers. What happened is in the session's ledger; here is what it is found by,
-- and the content that is shown: card, sentences and notes, which an erasure takes away.

-- An answer counts only of who was there before the card: a new role is a new right.
alter table users add column role_since timestamptz not null default clock_timestamp();

create table questions (
  tenant_id       text not null references tenants,
  question_id     text not null,
  session_id      text not null,
  proposal_id     text not null,
  call_id         text not null,
  tool_name       text not null,
  agent           text,
  environment     text,
  -- The first rule that asks, as `tool#0`.
  rule            text not null,
  reason          text,
  argument_hash   text not null,
  edited_hash     text,
  card_no         int not null,
  card_hash       text not null,
  card_at         timestamptz not null,
  -- Of the tool, where it is pinned, and of the plan in force: another one is another question.
  definition_hash text,
  approved_hash   text,
  card            json,
  flow            json,
  can_edit        boolean not null,
  -- The member whom the session acts for, where a token proves that.
  requester       text,
  principal_proof text,
  have            int not null,
  needed          int not null,
  eligible        json not null,
  self            text not null check (self in ('confirm', 'never')),
  remind_at       timestamptz[] not null,
  state           text not null check (state in ('waiting', 'approved', 'used', 'denied', 'expired', 'withdrawn')),
  cause           text,
  asked_at        timestamptz not null,
  expires_at      timestamptz not null,
  -- Once approved.
  usable_until    timestamptz,
  decided_at      timestamptz,
  pending_call_id text,
  primary key (tenant_id, question_id)
);
create index questions_by_session on questions (tenant_id, session_id);
create index questions_by_time on questions (tenant_id, asked_at desc, question_id desc);
create index questions_waiting on questions (tenant_id, asked_at desc, question_id desc) where state = 'waiting';
-- Those that end by time, whatever their tenant.
create index questions_by_end on questions (coalesce(usable_until, expires_at)) where state in ('waiting', 'approved');

create table answers (
  tenant_id   text not null,
  question_id text not null,
  seq         bigint not null,
  session_id  text not null,
  card_no     int not null,
  user_id     text not null,
  -- As it was shown then.
  member_name text,
  decision    text not null check (decision in ('approve', 'deny')),
  relation    text not null check (relation in ('self', 'other', 'unknown')),
  channel     text not null,
  sign_in_id  text not null,
  note        text,
  edited      json,
  at          timestamptz not null,
  primary key (tenant_id, question_id, seq)
);
create index answers_by_session on answers (tenant_id, session_id);
create index answers_by_member on answers (tenant_id, user_id, at desc);
