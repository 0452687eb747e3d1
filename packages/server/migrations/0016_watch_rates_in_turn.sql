-- Learned plans are watched in turn, those that waited longest first: no tenant's plans keep those of others waiting.
alter table approved_plans add column rates_watched_at timestamptz;
