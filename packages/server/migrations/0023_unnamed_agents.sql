-- Sessions without the name of an agent are those of the agent `default`, by which their plan is looked up and their calls are
-- learned. They were counted and listed under no name, beside what was learned from them.
update sessions set agent = 'default' where agent is null;
alter table sessions alter column agent set not null;

insert into session_counts (tenant_id, hour, agent, sessions)
select tenant_id, hour, 'default', sessions from session_counts where agent = ''
on conflict (tenant_id, hour, agent) do update set sessions = session_counts.sessions + excluded.sessions;
delete from session_counts where agent = '';

insert into decision_counts (tenant_id, grain, at, agent, reason, calls)
select tenant_id, grain, at, 'default', reason, calls from decision_counts where agent = ''
on conflict (tenant_id, grain, at, agent, reason) do update set calls = decision_counts.calls + excluded.calls;
delete from decision_counts where agent = '';
