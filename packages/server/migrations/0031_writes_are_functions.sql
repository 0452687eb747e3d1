-- Each write of a session is a function. A function whose text changes after its release gets a new name, so that the
-- version before works on beside the new one.
\ir ../sql/functions/write_extras.sql
\ir ../sql/functions/create_session.sql
\ir ../sql/functions/prepare.sql
\ir ../sql/functions/propose.sql
\ir ../sql/functions/receive.sql
\ir ../sql/functions/record.sql
\ir ../sql/functions/append_workflow.sql
\ir ../sql/functions/store_captures.sql
\ir ../sql/functions/take_tokens.sql
\ir ../sql/functions/enter.sql
