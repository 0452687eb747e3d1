-- Stores a batch of captures, with what is to be learned from them. Returns how many were new: the others had been sent
-- before, or are of sessions that were erased. `p_items` has a line for each of `p_captures`: JSON has no line breaks, and
-- nothing need be looked for in it.
create function store_captures(p_tenant text, p_captures json, p_items text, p_salts json, p_governed boolean)
returns integer
language plpgsql as $$
declare
  v_erased text[] := '{}';
  v_accepted integer;
begin
  if p_governed then
    -- An erasure under way is waited for, and then seen. What was proposed after it counts.
    perform 1 from tenants t where t.tenant_id = p_tenant for share;
    select coalesce(array_agg(c.capture_id), '{}') into v_erased
    from json_to_recordset(p_captures) as c (capture_id text, conversation_id text, at timestamptz)
    join erased_sessions e on e.tenant_id = p_tenant and e.session_id = c.conversation_id
    where not exists (
      select 1 from session_events p
      where p.tenant_id = p_tenant and p.session_id = e.session_id and p.seq > e.seq and p.proposal_id = c.capture_id
    );
  end if;

  with given as (
    select c.*
    from rows from (
      json_to_recordset(p_captures) as (
        capture_id text, agent text, conversation_id text, at timestamptz, capture_level text, tool_names text[],
        decision text, governed boolean, calls integer, covered integer
      ),
      string_to_table(p_items, chr(10))
    ) as c (
      capture_id, agent, conversation_id, at, capture_level, tool_names, decision, governed, calls, covered, item
    )
  ), kept as (
    insert into captures (
      tenant_id, capture_id, agent, conversation_id, at, capture_level, tool_names, decision, governed, item, item_size
    )
    select p_tenant, g.capture_id, g.agent, g.conversation_id, g.at, g.capture_level, g.tool_names, g.decision, g.governed,
      g.item::json, length(g.item)
    from given g where g.capture_id <> all (v_erased)
    on conflict do nothing
    returning capture_id, agent, at, received_at, governed
  ), waiting as (
    -- What has no receipt by the time at which it is due teaches nothing.
    insert into unlearned_captures (tenant_id, agent, due_at, first_id, capture_ids, captures)
    select p_tenant, k.agent, max(k.received_at) + case when k.governed then interval '3 minutes' else interval '0' end,
      min(k.capture_id), array_agg(k.capture_id), count(*)
    from kept k group by k.agent, k.governed
  ), counted as (
    insert into captured_calls as known (tenant_id, hour, agent, calls, covered)
    select p_tenant, date_trunc('hour', k.at), k.agent, sum(g.calls), sum(g.covered)
    from kept k
    join (select distinct on (capture_id) capture_id, calls, covered from given) as g on g.capture_id = k.capture_id
    where not k.governed and g.calls > 0
    -- In one order, so that two batches do not wait for each other.
    group by 2, 3 order by 2, 3
    on conflict (tenant_id, hour, agent) do update
    set calls = known.calls + excluded.calls, covered = known.covered + excluded.covered
  )
  select count(*) into v_accepted from kept;

  insert into learned_agents (tenant_id, agent, salt)
  select p_tenant, a.agent, a.salt from json_to_recordset(p_salts) as a (agent text, salt text)
  on conflict do nothing;
  return v_accepted;
end $$;
