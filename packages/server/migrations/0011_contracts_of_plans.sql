-- What a person wrote counts as long as the plan it came with is not rejected. Of what was written before, the plan is
-- found by its files; a contract that stands in none stays.
alter table customer_contracts add column plan_id text not null default '';
update customer_contracts c set plan_id = coalesce((
  select g.plan_id from governance_plans g, json_array_elements(g.files) f
  where g.tenant_id = c.tenant_id and g.agent = c.agent and f ->> 'file' = c.file and f ->> 'text' = c.text
  order by g.state = 'rejected', g.created_at desc limit 1), '');
delete from customer_contracts c using governance_plans g
where g.tenant_id = c.tenant_id and g.plan_id = c.plan_id and g.state = 'rejected';
alter table customer_contracts alter column plan_id drop default;
alter table customer_contracts drop constraint customer_contracts_pkey;
alter table customer_contracts add primary key (tenant_id, agent, tool_name, plan_id);
