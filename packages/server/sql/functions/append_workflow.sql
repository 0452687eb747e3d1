-- Appends events to the ledger of a workflow. False: the workflow was written since it was read, and nothing is written.
create function append_workflow(
  p_tenant text, p_workflow text, p_known bigint, p_status text, p_seq bigint, p_hash text, p_events json
) returns boolean
language plpgsql as $$
begin
  update workflows w set status = p_status, ledger_seq = p_seq, ledger_hash = p_hash
  where w.tenant_id = p_tenant and w.workflow_id = p_workflow and w.ledger_seq = p_known;
  if not found then
    return false;
  end if;
  insert into workflow_events (tenant_id, workflow_id, seq, type, at, body, prev_hash, hash)
  select p_tenant, p_workflow, e.seq, e.type, e.at, e.body, e.prev_hash, e.hash
  from json_to_recordset(p_events)
    as e (seq bigint, type text, at timestamptz, body json, prev_hash text, hash text);
  return true;
end $$;
