-- Its sessions act for no person, an owner says: then any member may answer what the one acted for must not.
alter table api_keys add column principal text check (principal = 'none');
