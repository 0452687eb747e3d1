-- Sessions whose content was erased, and up to which event: a capture of an earlier proposal that another process still
-- holds must not be written any more.
create table erased_sessions (
  tenant_id  text not null,
  session_id text not null,
  seq        bigint not null,
  erased_at  timestamptz not null,
  primary key (tenant_id, session_id)
);
