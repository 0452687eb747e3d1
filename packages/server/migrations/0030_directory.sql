-- Which tenant a key, an address or a token belongs to. Everything else is asked of one tenant, by keys that hold it.
create table directory (
  kind      text not null check (kind in ('key', 'email', 'sign_in', 'mail', 'invitation')),
  hash      bytea not null check (octet_length(hash) = 32),
  tenant_id text not null,
  primary key (kind, hash)
);
insert into directory (kind, hash, tenant_id)
  select 'key', key_hash, tenant_id from api_keys
  union all select 'email', sha256(convert_to(email_key, 'UTF8')), tenant_id from users where removed_at is null
  union all select 'sign_in', token_hash, tenant_id from refresh_tokens
  union all select 'mail', token_hash, tenant_id from mail_tokens
  union all select 'invitation', token_hash, tenant_id from invitations where token_hash is not null;

alter table api_keys drop constraint api_keys_key_hash_key, add unique (tenant_id, key_hash);
alter table users drop constraint users_email_key_key, add unique (tenant_id, email_key);
alter table refresh_tokens drop constraint refresh_tokens_token_hash_key, add unique (tenant_id, token_hash);
alter table mail_tokens drop constraint mail_tokens_token_hash_key, add unique (tenant_id, token_hash);
alter table invitations drop constraint invitations_token_hash_key, add unique (tenant_id, token_hash);
