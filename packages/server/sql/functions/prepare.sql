-- Prepares a request for a model call. False: the session was written since it was read, or the id of the request is
-- taken, and nothing is written. Of the head, a null leaves what is there.
create function prepare(
  p_tenant text, p_session text,
  p_known text, p_revision text, p_lease_until timestamptz, p_facts text, p_prepared text, p_narrowing text,
  p_key_hash bytea, p_quota text,
  p_request text, p_has_superseded boolean, p_extras json
) returns boolean
language plpgsql as $$
declare
  v_mode text;
begin
  -- Whoever uses or stores a request of this id meanwhile changes the revision.
  perform 1 from session_events e
  where e.tenant_id = p_tenant and e.session_id = p_session and e.request_id = p_request;
  if found then
    return false;
  end if;
  if p_has_superseded then
    perform 1 from superseded_requests r
    where r.tenant_id = p_tenant and r.session_id = p_session and r.prepared_request_id = p_request;
    if found then
      return false;
    end if;
  end if;

  update session_heads h
  set revision = p_revision, lease_until = p_lease_until, facts = p_facts, prepared = coalesce(p_prepared, h.prepared),
    narrowing = coalesce(p_narrowing, h.narrowing)
  where h.tenant_id = p_tenant and h.session_id = p_session and h.revision = p_known;
  if not found then
    return false;
  end if;
  if p_key_hash is not null then
    -- Once it has the row: a key that was revoked while it waited counts as revoked (decision 0005).
    perform 1 from api_keys k join tenants t on t.tenant_id = p_tenant
    where k.tenant_id = p_tenant and k.key_hash = p_key_hash and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > clock_timestamp())
      and t.quota = p_quota and t.verified_at is not null;
    if not found then
      raise exception 'the key is not valid any more' using errcode = 'CSKEY';
    end if;
  end if;
  if p_extras is not null then
    perform write_extras(p_tenant, p_session, p_extras);
  end if;
  -- Not waited for by the disk: a prepared request that a crash loses only makes its proposal fail.
  v_mode := set_config('synchronous_commit', 'off', true);
  return true;
end $$;
