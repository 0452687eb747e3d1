-- Ids of calls and responses by which a later request of a conversation finds its session. Written only where the caller
-- asks for it. Where a provider uses an id again, the newest session has it.
create table findable_ids (
  tenant_id   text not null,
  agent       text not null,
  environment text not null,
  id          text not null,
  session_id  text not null,
  at          timestamptz not null,
  primary key (tenant_id, agent, environment, id)
);
create index findable_ids_by_time on findable_ids (at);
