-- Records receipts: what became of allowed calls, and prepares the request of the next turn where one is named. False:
-- the session was written since it was read, or the id of the request is taken, and nothing is written. Of the head, a
-- null leaves what is there. Most batches have one receipt; further ones are among the extras.
create function receive_2(
  p_tenant text, p_session text,
  p_known text, p_revision text, p_lease_until timestamptz, p_facts text, p_state text, p_recent text,
  p_key_hash bytea, p_quota text,
  p_seq bigint, p_type text, p_at timestamptz, p_body text, p_prev_hash text, p_hash text,
  p_pending_call text, p_receipt text,
  p_prepared text, p_narrowing text, p_request text, p_has_superseded boolean, p_extras json
) returns boolean
language plpgsql as $$
begin
  if p_request is not null then
    -- As in `prepare`: who uses or stores a request of this id meanwhile changes the revision.
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
  end if;

  update session_heads h
  set revision = p_revision, lease_until = p_lease_until, facts = p_facts, state = coalesce(p_state, h.state),
    recent = coalesce(p_recent, h.recent), prepared = coalesce(p_prepared, h.prepared),
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

  insert into session_events (tenant_id, session_id, seq, type, at, body, prev_hash, hash)
  values (p_tenant, p_session, p_seq, p_type, p_at, p_body, p_prev_hash, p_hash);
  if p_pending_call is not null then
    insert into receipts (tenant_id, session_id, pending_call_id, seq, record)
    values (p_tenant, p_session, p_pending_call, p_seq, p_receipt);
  end if;
  if p_extras is not null then
    perform write_extras(p_tenant, p_session, p_extras);
  end if;
  return true;
end $$;
