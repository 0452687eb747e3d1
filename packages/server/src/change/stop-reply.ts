import type { SessionState } from '@countersign/engine'
import type { LedgerHead, Reply, Routes } from '@countersign/protocol'

/** What kill and report-bypass answer: the state of the session now. */
export function stopReply({
  state,
  ledger,
}: {
  state: SessionState
  ledger: LedgerHead
}): Reply<Routes['killSession']> {
  return { status: state.status, killed: state.status === 'KILLED', control_revision: state.controlRevision, ledger }
}
