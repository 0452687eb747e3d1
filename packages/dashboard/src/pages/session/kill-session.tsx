import type { SessionView } from '@countersign/protocol'
import { useChange } from '../../api/use-api.js'
import { Text } from '../../components/basic/text.js'
import { KillButton } from '../../components/form/kill-button.js'

/** Kills a session after a confirmation. */
export function KillSession({ session }: { session: SessionView }) {
  const kill = useChange('killSessionByPerson', [
    'loadSessionDetail',
    'loadTimeline',
    'listSessions',
    'loadOverview',
    'listAudit',
  ])
  const params = { session_id: session.session_id }
  return (
    <KillButton what="session" change={kill} onKill={(body, done) => kill.mutate({ params, body }, done)}>
      <Text value={session.session_id} className="name" /> cannot propose any more calls, and calls that have not
      started will not run. Calls already running may finish, and their receipts are recorded.
    </KillButton>
  )
}
