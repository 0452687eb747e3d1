-- The card says what of its call may be changed, and the notices when people are reminded.
alter table questions drop column can_edit, drop column remind_at;
