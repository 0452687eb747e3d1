/** What can be proven of the past, against whom, and whose clock counts. */
export declare const proof: {
    'clock.database-deletes': string;
    'clock.database-frees': string;
    'clock.wrong-refuses': string;
    'ledger.rewritten-fails-verify': string;
    'ledger.signing-refuses-contradiction': string;
    'ledger.rollback-fails-verify': string;
    'ledger.deleted-session-alarms': string;
    'ledger.seals-chain': string;
    'ledger.seals-checked': string;
    'ledger.verify-pinned-keys': string;
    'content.forged-not-shown': string;
    'ledger.proof-bounded': string;
    'ledger.pages-by-bytes': string;
    'guarantee.runs-once': string;
    'guarantee.no-silent-path': string;
    'guarantee.streams-held': string;
    'guarantee.streams-contradicting': string;
    'guarantee.ledger-folds': string;
    'guarantee.no-content': string;
    'guarantee.erasable': string;
    'guarantee.not-logged': string;
    'guarantee.shown-rules.through-service': string;
    'guarantee.shown-rules': string;
};
