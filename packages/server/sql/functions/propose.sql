-- Registers a proposal in one session. False: the session was written since it was read, and nothing is written.
-- Of the head, a null leaves what is there. A request that was used before violates the key `session_events_by_request`.
create function propose(
  p_tenant text, p_session text,
  p_known text, p_revision text, p_lease_until timestamptz, p_facts text, p_state text, p_recent text,
  p_key_hash bytea, p_quota text,
  p_seq bigint, p_type text, p_at timestamptz, p_body text, p_prev_hash text, p_hash text,
  p_request text, p_with_tools boolean, p_proposal text, p_outcome text, p_record text,
  p_arguments json, p_is_blocked boolean, p_extras json
) returns boolean
language plpgsql as $$
begin
  update session_heads h
  set revision = p_revision, lease_until = p_lease_until, facts = p_facts, state = coalesce(p_state, h.state),
    recent = coalesce(p_recent, h.recent), prepared = case when not p_with_tools then h.prepared end
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

  -- The record lies beside the event, outside of the chain.
  insert into session_events (
    tenant_id, session_id, seq, type, at, body, prev_hash, hash, request_id, proposal_id, outcome, record
  )
  values (
    p_tenant, p_session, p_seq, p_type, p_at, p_body, p_prev_hash, p_hash, p_request, p_proposal, p_outcome, p_record
  );
  if not p_with_tools then
    delete from superseded_requests r
    where r.tenant_id = p_tenant and r.session_id = p_session and r.prepared_request_id = p_request;
  end if;
  if p_arguments is not null then
    insert into content (tenant_id, session_id, kind, ref, body, created_at)
    values (p_tenant, p_session, 'arguments', p_proposal, p_arguments, p_at);
  end if;
  -- The newest blocked calls of a tenant are found by their time.
  if p_is_blocked then
    insert into blocked_proposals (tenant_id, at, session_id, seq) values (p_tenant, p_at, p_session, p_seq);
  end if;
  if p_extras is not null then
    perform write_extras(p_tenant, p_session, p_extras);
  end if;
  return true;
end $$;
