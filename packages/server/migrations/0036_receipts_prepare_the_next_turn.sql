-- Receipts may prepare the request of the next turn in the same write.
\ir ../sql/functions/receive_2.sql
