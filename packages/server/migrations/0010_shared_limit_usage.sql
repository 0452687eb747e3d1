-- What a count is of, for people who look at what is used. Null: it was last written before this was noted.
alter table shared_limit_counts
  add column per         text,
  add column counts      text,
  add column time_window text,
  add column most        numeric;
