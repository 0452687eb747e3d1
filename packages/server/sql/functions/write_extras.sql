-- What a write of a session has beside its head and its first event: most have nothing. The caller has the session's row.
create function write_extras(p_tenant text, p_session text, p_extras json) returns void
language plpgsql as $$
declare
  x record;
  v record;
begin
  select * into x from json_to_record(p_extras) as e (
    events json, status text, ended_at timestamptz, created_at timestamptz, facets json, at timestamptz, content json,
    receipts json, seq bigint, late json, stopped json, superseded json, holds_end timestamptz, audit json, find json,
    sticky json, counts json
  );

  if x.events is not null then
    insert into session_events (tenant_id, session_id, seq, type, at, body, prev_hash, hash)
    select p_tenant, p_session, e.seq, e.type, e.at, e.body::text, e.prev_hash, e.hash
    from json_to_recordset(x.events)
      as e (seq bigint, type text, at timestamptz, body json, prev_hash text, hash text);
  end if;

  -- Sessions are listed by their status, and by whether they have ended.
  if x.status is not null then
    update sessions s set status = x.status, ended_at = x.ended_at
    where s.tenant_id = p_tenant and s.session_id = p_session;
  end if;

  if x.facets is not null then
    insert into session_facets (tenant_id, kind, value, created_at, session_id)
    select p_tenant, f.kind, f.value, x.created_at, p_session
    from json_to_recordset(x.facets) as f (kind text, value text)
    on conflict do nothing;
  end if;

  -- A null, such as the result of a tool that returns nothing, is not stored: it reads the same.
  if x.content is not null then
    insert into content (tenant_id, session_id, kind, ref, body, created_at)
    select p_tenant, p_session, c.kind, c.ref, c.body, x.at
    from json_to_recordset(x.content) as c (kind text, ref text, body json)
    where c.body is not null
    on conflict do nothing;
  end if;

  if x.receipts is not null then
    insert into receipts (tenant_id, session_id, pending_call_id, seq, record)
    select p_tenant, p_session, r ->> 'pending_call_id', x.seq, r::text from json_array_elements(x.receipts) as r;
  end if;

  if x.late is not null then
    insert into late_receipts (
      tenant_id, session_id, pending_call_id, number, seq, fence, body_hash, outcome, evidence_level, argument_hash,
      result_hash, recorded_at
    )
    select p_tenant, p_session, r.pending_call_id, r.number, x.seq, r.fence, r.body_hash, r.outcome, r.evidence_level,
      r.argument_hash, r.result_hash, x.at
    from json_to_recordset(x.late) as r (
      pending_call_id text, number int, fence bigint, body_hash text, outcome text, evidence_level text,
      argument_hash text, result_hash text
    );
  end if;

  -- Allowed calls that a person, a constraint or a control stopped before they ran.
  if x.stopped is not null then
    insert into stopped_calls (tenant_id, at, session_id, proposal_id, call_index, proposed_at, reason)
    select p_tenant, x.at, p_session, c.proposal_id, c.call_index, c.proposed_at, c.reason
    from json_to_recordset(x.stopped) as c (proposal_id text, call_index int, proposed_at timestamptz, reason text)
    on conflict do nothing;
  end if;

  -- A request that is not the session's newest: it was superseded, or has no tools.
  if x.superseded is not null then
    insert into superseded_requests (tenant_id, session_id, prepared_request_id, expires_at, request)
    select p_tenant, p_session, r ->> 'id', (r ->> 'expiresAt')::timestamptz, r::text
    from (select x.superseded as r) as given;
  end if;

  -- What the calls of a killed session hold comes free, even if no receipt comes.
  if x.holds_end is not null then
    update resource_holds h set ends_at = x.holds_end
    where h.tenant_id = p_tenant and h.session_id = p_session and h.ends_at is null;
  end if;

  if x.audit is not null then
    insert into audit_entries
      (tenant_id, at, action, user_id, actor, signed_in_by, ip, subject, detail, key_id, key_name, key_prefix)
    select p_tenant, statement_timestamp(), a.action, a.user_id, a.actor, a.signed_in_by, a.ip, a.subject, a.detail,
      k.key_id, k.name, k.prefix
    from json_to_record(x.audit) as a (
      action text, user_id text, actor text, signed_in_by text, ip text, subject text, detail text, key_id text
    )
    left join api_keys k on k.tenant_id = p_tenant and k.key_id = a.key_id;
  end if;

  -- The ids come in order, here and below, so that two writes cannot wait for each other.
  if x.find is not null then
    insert into findable_ids (tenant_id, agent, environment, id, session_id, at)
    select p_tenant, f.agent, f.environment, i.id, p_session, x.at
    from json_to_record(x.find) as f (agent text, environment text, ids json),
      json_array_elements_text(f.ids) with ordinality as i (id, place)
    order by i.place
    on conflict (tenant_id, agent, environment, id) do update set session_id = excluded.session_id, at = excluded.at;
  end if;

  if x.sticky is not null then
    insert into sticky_labels (tenant_id, owner, label, call_id, added_at)
    select p_tenant, s.owner, a.label, a.call_id, clock_timestamp()
    from json_to_record(x.sticky) as s (owner text, added json),
      json_to_recordset(s.added) as a (label text, call_id text)
    order by a.label collate "C", a.call_id collate "C"
    on conflict (tenant_id, owner, label, call_id) do update set added_at = excluded.added_at;
    delete from sticky_labels l using json_to_record(x.sticky) as s (owner text, settled text[])
    where l.tenant_id = p_tenant and l.owner = s.owner and l.call_id = any (s.settled);
  end if;

  -- Last: these rows are shared with other sessions, and are held until the transaction ends. A write that has waited for
  -- the row adds to its latest amounts; where that is more than the bound, the constraint `shared_limit_kept` undoes all.
  if x.counts is not null then
    for v in
      select * from json_to_recordset(x.counts) as g (
        name text, id text, bucket bigint, amount numeric, bound numeric, past bigint, expires_at timestamptz, per text,
        counts text, time_window text, most numeric
      )
      order by g.name collate "C", g.id collate "C"
    loop
      insert into shared_limit_counts (tenant_id, name, id, buckets, amounts, past, used, expires_at)
      values (p_tenant, v.name, v.id, '{}', '{}', v.past, 0, v.expires_at)
      on conflict do nothing;
      update shared_limit_counts l
      set past = greatest(l.past, v.past), bound = v.bound, expires_at = greatest(l.expires_at, v.expires_at), per = v.per,
        counts = v.counts, time_window = v.time_window, most = v.most,
        (buckets, amounts, used) = (
          select coalesce(array_agg(bucket order by bucket), '{}'), coalesce(array_agg(amount order by bucket), '{}'),
            coalesce(sum(amount), 0)
          from (
            select bucket, greatest(sum(amount), 0) as amount
            from (
              select * from unnest(l.buckets, l.amounts) as known (bucket, amount) union all select v.bucket, v.amount
            ) as every
            where bucket > v.past
            group by bucket
          ) as live
        )
      where l.tenant_id = p_tenant and l.name = v.name and l.id = v.id;
    end loop;
  end if;
end $$;
