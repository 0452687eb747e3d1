-- People: users, their dashboard sign-ins, one-time tokens, mail to send, and the audit trail.

create table users (
  tenant_id         text not null references tenants,
  user_id           text not null,
  -- As the person typed it, for mail; and in the form by which it is looked up.
  email             text not null,
  email_key         text not null unique,
  name              text,
  password_hash     text not null,
  email_verified_at timestamptz,
  created_at        timestamptz not null default clock_timestamp(),
  primary key (tenant_id, user_id)
);

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

-- Reset and verification tokens: single use, and a newer one voids the older.
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
create unique index mail_tokens_one_open on mail_tokens (tenant_id, user_id, kind) where used_at is null and voided_at is null;

-- What is to be sent to whom, and nothing secret: the token is made when the mail is.
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

create table audit_entries (
  tenant_id text not null references tenants,
  audit_id  bigint generated always as identity,
  at        timestamptz not null,
  action    text not null,
  user_id   text,
  actor     text,
  ip        text,
  subject   text,
  detail    text,
  primary key (tenant_id, audit_id)
);
