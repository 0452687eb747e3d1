import type { LedgerHead } from '@countersign/protocol'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Answer, ApiProblem } from '../../api/api.js'
import { fetchLedger } from '../../api/fetch-ledger.js'
import { saveFile } from '../../api/save-file.js'
import { useApi } from '../../api/use-api.js'
import { Allowed } from '../../components/basic/allowed.js'
import { Button } from '../../components/basic/button.js'
import { CodeBlock } from '../../components/basic/code-block.js'
import { Hash } from '../../components/basic/hash.js'
import { Icon } from '../../components/basic/icon.js'
import { Panel } from '../../components/layout/page.js'
import { Failure } from '../../components/layout/states.js'
import { plural } from '../../text/format.js'
import { EraseContent } from './erase-content.js'

/** Verifies the ledger on demand, and offers the proof for download: anyone can check it without this server. */
export function Proof({ sessionId, head }: { sessionId: string; head: LedgerHead }) {
  const [isWanted, setWanted] = useState(false)
  const proof = useApi('loadProof', { params: { session_id: sessionId } }, { enabled: isWanted })
  const download = useMutation<void, ApiProblem>({
    mutationFn: async () => saveFile(fileName(sessionId), await fetchLedger(sessionId)),
  })
  const check = () => (isWanted ? void proof.refetch() : setWanted(true))
  return (
    <Panel title="Ledger">
      <p className="ledger-head">
        <Hash label={`Head, event ${head.seq}`} value={head.hash} />
      </p>
      {proof.data === undefined ? null : <ProofResult proof={proof.data} />}
      {proof.error === null ? null : <Failure problem={proof.error} onRetry={proof.refetch} />}
      {download.error === null ? null : <Failure problem={download.error} onRetry={() => download.mutate()} />}
      <div className="ledger-actions">
        <Button icon="check" busy={proof.isFetching} onClick={check}>
          {proof.data === undefined ? 'Verify ledger' : 'Verify again'}
        </Button>
        {proof.data === undefined ? null : (
          <Button icon="download" busy={download.isPending} onClick={() => download.mutate()}>
            Download proof
          </Button>
        )}
        <Allowed to="eraseContent">
          <EraseContent sessionId={sessionId} />
        </Allowed>
      </div>
      {proof.data === undefined ? null : (
        <CodeBlock
          title="Check it offline, in the Countersign folder"
          code={`npx countersign verify ${fileName(sessionId)}`}
        />
      )}
    </Panel>
  )
}

function ProofResult({ proof }: { proof: Answer<'loadProof'> }) {
  return proof.verified ? (
    <p className="proof proof-good" role="status">
      <Icon name="check" /> Verified: {plural(proof.events, 'event')}, every hash matches, stored content fits its
      hashes, and the events add up to the current state. {signedText(proof)}
    </p>
  ) : (
    <p className="proof proof-bad" role="alert">
      <Icon name="alert" /> Not verified: {proof.problem ?? 'the chain is broken'}.
    </p>
  )
}

const fileName = (sessionId: string): string => `countersign-${sessionId.replace(/[^A-Za-z0-9_.-]/g, '_')}.json`

/** How far a key outside of the database vouches for the ledger. */
function signedText({ signed_head: signed, head }: Answer<'loadProof'>): string {
  if (signed === null) return 'Its head is not signed yet.'
  const upTo = signed.seq === head.seq ? 'Its head is signed' : `It is signed up to event ${signed.seq}`
  return `${upTo} with key ${signed.key_id.slice(0, 8)}…`
}
