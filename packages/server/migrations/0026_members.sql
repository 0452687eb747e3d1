-- Members of a tenant: roles, groups, invitations; what a key is for; how people are signed in.

-- The first member of a tenant was its only one.
alter table users add column role text not null default 'owner' check (role in ('owner', 'approver', 'viewer'));
-- Null for a member who signs in at the company's provider only.
alter table users alter column password_hash drop not null;
alter table users add column disabled_at timestamptz;
-- Then neither name nor address is here any more.
alter table users add column removed_at timestamptz;

-- A group is a name that members share.
create table group_members (
  tenant_id text not null,
  name      text not null,
  user_id   text not null,
  since     timestamptz not null default clock_timestamp(),
  primary key (tenant_id, name, user_id),
  foreign key (tenant_id, user_id) references users
);
create index group_members_by_user on group_members (tenant_id, user_id);

create table invitations (
  tenant_id     text not null references tenants,
  invitation_id text not null,
  email         text not null,
  email_key     text not null,
  role          text not null check (role in ('owner', 'approver', 'viewer')),
  groups        text[] not null,
  -- Null until its mail is written.
  token_hash    bytea unique check (octet_length(token_hash) = 32),
  invited_by    text not null,
  created_at    timestamptz not null,
  expires_at    timestamptz not null,
  -- The member who came of it.
  accepted_by   text,
  ended_at      timestamptz,
  primary key (tenant_id, invitation_id)
);
create unique index invitations_one_open on invitations (tenant_id, email_key) where ended_at is null;
create index invitations_by_end on invitations (least(expires_at, coalesce(ended_at, expires_at)));

-- A mail goes to a member or to whoever is invited.
alter table mail_queue alter column user_id drop not null;
alter table mail_queue add column invitation_id text;
alter table mail_queue drop constraint mail_queue_kind_check;
alter table mail_queue add constraint mail_queue_kind_check
  check (case when kind = 'invite' then invitation_id is not null else kind in ('reset', 'verify') and user_id is not null end);
alter table mail_queue add foreign key (tenant_id, invitation_id) references invitations;
create index mail_queue_by_invitation on mail_queue (tenant_id, invitation_id);

alter table refresh_tokens add column method text not null default 'password';
alter table refresh_tokens add column ip text;
alter table refresh_tokens add column browser text;
create index refresh_tokens_by_member on refresh_tokens (tenant_id, user_id, created_at desc);
drop index refresh_tokens_by_user;

alter table audit_entries add column signed_in_by text;

alter table api_keys add column access text not null default 'all' check (access in ('all', 'read', 'observe'));
-- The only agent and environment that the key reaches.
alter table api_keys add column agent text;
alter table api_keys add column environment text check (environment in ('development', 'staging', 'production'));
alter table api_keys add column expires_at timestamptz;
