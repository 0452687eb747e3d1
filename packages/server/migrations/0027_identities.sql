-- Members as the company's provider knows them.
create table identities (
  tenant_id text not null,
  issuer    text not null,
  subject   text not null,
  user_id   text not null,
  linked_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, issuer, subject),
  foreign key (tenant_id, user_id) references users
);
create index identities_by_user on identities (tenant_id, user_id);
