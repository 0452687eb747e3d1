-- Tenants, their API keys, and the token buckets of the rate limiter.

create table tenants (
  tenant_id   text primary key,
  name        text not null,
  quota       text not null default 'free' check (quota in ('free', 'team', 'scale')),
  -- Null: the account has not verified its e-mail address. Tenants made by an operator are verified at once.
  verified_at timestamptz,
  created_at  timestamptz not null default clock_timestamp()
);

create table api_keys (
  tenant_id    text not null references tenants,
  key_id       text not null,
  -- The user who made the key; null for a key made by an operator.
  user_id      text,
  name         text not null,
  -- The first characters of the key, by which a person tells keys apart. The key itself is kept nowhere.
  prefix       text not null,
  key_hash     bytea not null unique check (octet_length(key_hash) = 32),
  created_at   timestamptz not null default clock_timestamp(),
  last_used_at timestamptz,
  revoked_at   timestamptz,
  primary key (tenant_id, key_id)
);

-- A bucket belongs to a tenant, or, for routes before sign-in, to a hashed address or e-mail.
-- Unlogged: after a crash every bucket is full again, which harms nobody, and a take costs no disk write.
create unlogged table buckets (
  owner       text not null,
  bucket      text not null,
  tokens      double precision not null,
  refilled_at timestamptz not null,
  -- Whether the last request got its token: a refused one updates the row as well, so that one statement can answer.
  taken       boolean not null,
  primary key (owner, bucket)
) with (fillfactor = 50);

-- When each periodic job ran last, on whichever instance; the row is also the lock of the job.
create table jobs (
  name        text primary key,
  last_run_at timestamptz not null default '-infinity'
);
