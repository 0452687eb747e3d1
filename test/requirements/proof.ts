import type { Facts } from './facts.js'

/** What can be proven of the past, against whom, and whose clock counts. */
export const proof = {
  'clock.database-deletes': "Everything that deletes or expires goes by the database's clock, whatever the process's says",
  'clock.database-frees': "What a killed session's calls hold comes free by the database's clock",
  'clock.wrong-refuses': 'An instance whose clock is minutes off refuses requests and does no jobs, and says why',
  'ledger.rewritten-fails-verify': 'A ledger whose whole chain was recomputed in the database fails verification',
  'ledger.signing-refuses-contradiction': 'A head that contradicts an earlier signed one is not signed and raises an alarm',
  'ledger.rollback-fails-verify': 'A ledger that was set back behind its signed head fails verification',
  'ledger.deleted-session-alarms': 'A signed ledger that is deleted raises an alarm',
  'ledger.seals-chain': 'Every batch of signed heads gives a seal that names the one before it, in the log and by a route',
  'ledger.seals-checked': '`seals check` compares the seals of a server with those kept elsewhere, and names one that is missing, forged or another',
  'ledger.verify-pinned-keys': 'verify checks the signed head offline with saved keys, and fails without a signature',
  'content.forged-not-shown': 'Stored content that does not match its hash in the ledger is not shown and not verified',
  'ledger.proof-bounded': 'A ledger is verified in batches: proofs of big ledgers hold little memory and others are served',
  'ledger.pages-by-bytes': 'Exports and timelines come in pages that are bounded by bytes, and all of them come',
  'guarantee.tenants-apart':
    "The id of another tenant's object gets the same response as an unknown one, by key and signed in, in a path and in a body, and no list shows it",
  'guarantee.kill-wins': 'However a kill races proposals, receipts and retries of lost answers, nothing is allowed after it, on any instance',
  'guarantee.approval-bound':
    'An approval counts for one call with exactly the arguments that were allowed: for another call, other arguments or an earlier question it opens nothing',
  'guarantee.one-open-proposal': 'While allowed calls wait for their receipts no other proposal is accepted: two calls never both use the last of a limit',
  'guarantee.judged-runs':
    'What was judged is what runs: a call with values that the program changed after the verdict runs nothing, is settled as not run, and the error names them; with keys more or less it runs as it was judged',
  'guarantee.one-reading':
    'A call is blocked, with a suggested fix, if another reader could take its arguments for others: duplicate members of one object, names that differ only in case, Unicode form or invisible characters, numbers with more than 17 significant digits',
  'guarantee.known-shapes':
    'Of an answer of a model only calls in known shapes pass: where calls stand, one of an unknown kind, one with two inputs or one under names in other letters blocks the answer, whole or streamed, and nothing of it is left in what the program gets; results, echoes of the request and errors pass',
  'guarantee.runs-once': 'A wrapped tool runs only for an allowed call that is open, once, with the value that was hashed',
  'guarantee.processes.one-holder':
    'However many processes with the SDK open one session at once, on any instance, one of them holds it: the others are allowed nothing, and no allowed call runs in two of them',
  'guarantee.processes.lost-holder':
    'A call of a process that stopped or died in the middle of its tool is in doubt for the next holder, and nobody runs it again; what the process reports later is kept as late evidence and changes nothing',
  'guarantee.processes.fresh-word':
    'A tool starts only on a decision, a confirmation or a claim that was asked for at most five seconds ago, also where the process stood still while the answer was on its way: a kill or a takeover before that stops it',
  'guarantee.processes.known-stop':
    'A process that has heard that its session was killed, compromised or taken over starts no tool of it any more, however fresh the decision',
  'guarantee.no-silent-path': 'Every method of a governed client that reaches a model is governed or refused',
  'guarantee.streams-held': 'No part of a tool call is released from a stream before the call is judged',
  'guarantee.streams-contradicting': 'A stream of which a program could read other calls than those judged releases none of them',
  'guarantee.ledger-folds': 'The ledger has no gap, and the stored state is the fold of its events',
  'guarantee.no-content': 'Events hold digests, numbers and names, and neither content nor the principal',
  'guarantee.erasable': 'Erased content leaves the chain whole, and takes what was learned from it alone',
  'guarantee.not-logged': 'No log line holds content or the principal',
  'guarantee.sources.whole-arguments':
    'What an earlier call sent is a source for later ones only as a whole argument that a source rule covers: words of a mail are none, also if a person approved the mail',
  'guarantee.sources.keys': 'A source rule covers the keys of a map as well as its values: an address or an account as a key needs a source, too',
  'guarantee.sources.echo':
    'A result vouches for no value that stood in the arguments of its own call, in whatever letters, unless the user or a field of an earlier result had named it before',
  'guarantee.sources.refused-twice':
    'What a model asked for and was refused is no source, where the refusal stands in place of the result too: asking again changes nothing; nor is the output of a failed call read as a table',
  'guarantee.shown-rules.through-service': 'The same holds through the SDK and the service: sources of values, bounds per order, two payers of one invoice',
  'fault.failed-among-rows': 'After a statement that failed among its rows, the next one on the same connection gets all of its own',
  'guarantee.provider-run': 'A tool that the provider ran adds its labels and counts against every limit from the proposal on, and opens nothing',
  'guarantee.shown-rules': 'A misled model with every tool at hand gets round no rule of README, tutorial, demo and examples',
} satisfies Facts
