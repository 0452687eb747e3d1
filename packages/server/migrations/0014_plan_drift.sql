-- Why a plan in force does not keep the rates that it promised, as a job last found it; null while it keeps them.
alter table approved_plans add column drift text;
