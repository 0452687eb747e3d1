-- Authenticates a key, takes tokens from its tenant's bucket, and says whether a session is still as it is known. Null: the
-- key is unknown, revoked or expired. Nothing is taken for a tenant that is not verified, or where `p_buckets`, the bucket
-- of each quota, is null.
create function enter(
  p_tenant text, p_key_hash bytea, p_buckets json, p_wanted integer, p_returned integer, p_session text, p_revision text
) returns json
language plpgsql as $$
declare
  v_key record;
  v_tenant record;
  v_taken json;
  v_is_current boolean := false;
begin
  select k.key_id, k.user_id, k.access, k.agent, k.environment into v_key from api_keys k
  where k.tenant_id = p_tenant and k.key_hash = p_key_hash and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > clock_timestamp());
  if not found then
    return null;
  end if;
  select t.quota, t.verified_at is not null as verified into v_tenant from tenants t where t.tenant_id = p_tenant;
  if v_tenant.verified and p_buckets is not null then
    v_taken := take_tokens(
      p_tenant, p_buckets -> v_tenant.quota ->> 'bucket', (p_buckets -> v_tenant.quota ->> 'perMinute')::float8, 60,
      p_wanted, p_returned
    );
  end if;
  if p_session is not null then
    perform 1 from session_heads h
    where h.tenant_id = p_tenant and h.session_id = p_session and h.revision = p_revision;
    v_is_current := found;
  end if;
  return json_build_object(
    'keyId', v_key.key_id, 'userId', v_key.user_id, 'access', v_key.access, 'agent', v_key.agent,
    'environment', v_key.environment, 'quota', v_tenant.quota, 'verified', v_tenant.verified, 'taken', v_taken,
    'now', clock_timestamp(), 'isCurrent', v_is_current
  );
end $$;
