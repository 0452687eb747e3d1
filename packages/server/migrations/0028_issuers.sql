-- Principals that a token proves.

-- Who may say for whom a session acts: its tokens are taken, and no other's.
create table issuers (
  tenant_id    text not null references tenants,
  -- The claim `iss` of its tokens.
  issuer       text not null,
  jwks_uri     text not null,
  audience     text not null,
  -- Asymmetric ones: with a shared secret, who checks tokens could also make them.
  algorithms   text[] not null check (
    cardinality(algorithms) > 0 and algorithms <@ array[
      'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'
    ]
  ),
  groups_claim text not null,
  created_at   timestamptz not null default clock_timestamp(),
  primary key (tenant_id, issuer)
);

-- Tokens that opened a session, until they have expired: each opens one.
create table used_tokens (
  tenant_id  text not null,
  issuer     text not null,
  jti_hash   text not null,
  session_id text not null,
  expires_at timestamptz not null,
  primary key (tenant_id, issuer, jti_hash)
);
create index used_tokens_by_expiry on used_tokens (expires_at);

-- `proven` or `as_told`. Null for sessions without a principal, and for those of earlier versions: as told. Without a check,
-- which would read every session while nobody can write.
alter table sessions add column principal_proof text;
