-- Opens a session. False: the id is taken, also by a session in an archive, and nothing is written. A token that opened
-- another session violates the key `used_tokens_pkey`, which undoes the whole write.
create function create_session(
  p_tenant text, p_session text, p_fixed json,
  p_revision text, p_lease_until timestamptz, p_facts text, p_state text, p_recent text,
  p_seq bigint, p_type text, p_at timestamptz, p_body text, p_prev_hash text, p_hash text,
  p_plan json, p_token json, p_extras json
) returns boolean
language plpgsql as $$
begin
  perform 1 from archived_ledgers a where a.tenant_id = p_tenant and a.id = p_session and a.ledger = 'session';
  if found then
    return false;
  end if;
  -- Of values: Citus says of the rows of a select that they were stored, also where they were not.
  insert into sessions (
    tenant_id, session_id, status, compiled_hash, plan_source, unmatched_policy, capture_level, agent, environment,
    principal, principal_proof, hash_salt, limit_salt, workflow_id, role, body_hash, created_at
  )
  values (
    p_tenant, p_session, p_fixed ->> 'status', p_fixed ->> 'compiled_hash', p_fixed ->> 'plan_source',
    p_fixed ->> 'unmatched_policy', p_fixed ->> 'capture_level', p_fixed ->> 'agent', p_fixed ->> 'environment',
    case when json_typeof(p_fixed -> 'principal') <> 'null' then p_fixed -> 'principal' end, p_fixed ->> 'principal_proof', p_fixed ->> 'hash_salt', p_fixed ->> 'limit_salt',
    p_fixed ->> 'workflow_id', p_fixed ->> 'role', p_fixed ->> 'body_hash', p_at
  )
  on conflict do nothing;
  if not found then
    return false;
  end if;

  insert into session_heads (tenant_id, session_id, revision, lease_until, facts, state, recent)
  values (p_tenant, p_session, p_revision, p_lease_until, p_facts, p_state, p_recent);
  insert into session_events (tenant_id, session_id, seq, type, at, body, prev_hash, hash)
  values (p_tenant, p_session, p_seq, p_type, p_at, p_body, p_prev_hash, p_hash);
  -- Stored for as long as the session.
  if p_plan is not null then
    insert into plans (tenant_id, compiled_hash, compiled_session, permanent)
    values (p_tenant, p_fixed ->> 'compiled_hash', p_plan, true)
    on conflict (tenant_id, compiled_hash) do update set permanent = true where not plans.permanent;
  end if;
  if p_token is not null then
    insert into used_tokens (tenant_id, issuer, jti_hash, session_id, expires_at)
    select p_tenant, t.issuer, t.jti_hash, p_session, t.expires_at
    from json_to_record(p_token) as t (issuer text, jti_hash text, expires_at timestamptz);
  end if;
  if p_extras is not null then
    perform write_extras(p_tenant, p_session, p_extras);
  end if;
  return true;
end $$;
