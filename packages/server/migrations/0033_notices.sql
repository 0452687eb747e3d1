-- Notices of questions, written with the question and sent by a job: first to all who can answer, then one row for each of
-- them. The ledger does not need them.
create table deliveries (
  tenant_id   text not null,
  question_id text not null,
  -- `asked`, `reminder-50`, `escalation-0`: what it is about, and which.
  kind        text not null,
  -- `all` stands for everybody who can answer when it is due.
  channel     text not null check (channel in ('all', 'mail')),
  -- The member; empty for all.
  recipient   text not null,
  attempts    int not null default 0,
  -- Null: sent, given up, or not needed any more.
  next_at     timestamptz,
  sent_at     timestamptz,
  error       text,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (tenant_id, question_id, kind, channel, recipient)
);
create index deliveries_by_age on deliveries (created_at);
create index deliveries_due on deliveries (next_at) where next_at is not null;
