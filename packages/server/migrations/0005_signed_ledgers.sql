-- Heads of ledgers signed with a key that is not in the database, and the seals over them that are published.

-- The newest signed head of each ledger.
create table signed_heads (
  tenant_id text not null,
  ledger    text not null check (ledger in ('session', 'workflow')),
  -- The session or workflow.
  id        text not null,
  seq       bigint not null,
  hash      text not null,
  -- To the millisecond, as it was signed.
  signed_at timestamptz not null,
  key_id    text not null,
  signature text not null,
  -- How the stored ledger contradicts the signed head; null: it does not. Then the head stays as it is.
  problem   text,
  primary key (ledger, tenant_id, id)
);
create index signed_heads_contradicted on signed_heads (tenant_id, ledger, id) where problem is not null;

-- One for each batch of heads that was signed, each with the digest of the one before.
create table ledger_seals (
  number      bigint primary key,
  at          timestamptz not null,
  digest      text not null,
  prev_digest text not null,
  key_id      text not null,
  signature   text not null
);
create index ledger_seals_by_time on ledger_seals (at);

-- How far the signing has come: by the time of events, and by the ids of ledgers in the round that looks at all of them.
create table ledger_signing (
  only_row    boolean primary key default true check (only_row),
  until       timestamptz not null,
  last_tenant text not null default '',
  last_id     text not null default ''
);
insert into ledger_signing (until) values (clock_timestamp());
