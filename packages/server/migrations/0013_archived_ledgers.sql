-- Sessions and workflows whose rows were moved into a file. The row says when, and what a file must be to be restored:
-- an archived id is not used again, and a file that was changed is not taken.
create table archived_ledgers (
  tenant_id   text not null,
  ledger      text not null check (ledger in ('session', 'workflow')),
  -- The session or workflow.
  id          text not null,
  archived_at timestamptz not null,
  -- The name of the file, without the folder it was written to, and the hash of what it says.
  file        text not null,
  digest      text not null,
  -- The head of the ledger, by which exports that were saved elsewhere can be compared.
  seq         bigint not null,
  hash        text not null,
  primary key (tenant_id, id, ledger)
);

-- The facets of a session, for whoever moves it. Their key starts with what they are found by.
create index session_facets_by_session on session_facets (tenant_id, session_id);
