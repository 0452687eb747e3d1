import type { SessionView } from '@countersign/protocol'
import { useChange } from '../../api/use-api.js'
import { Text } from '../../components/basic/text.js'
import { KillButton } from '../../components/form/kill-button.js'

/** Stops a session for good, after asking. */
export function KillSession({ session }: { session: SessionView }) {
  const kill = useChange('killSessionByPerson', ['loadSessionDetail', 'loadTimeline', 'listSessions', 'loadOverview'])
  if (session.status === 'KILLED') return null
  const params = { session_id: session.session_id }
  return (
    <KillButton what="session" change={kill} onKill={(body, done) => kill.mutate({ params, body }, done)}>
      <Text value={session.session_id} className="name" /> can propose nothing from now on, and calls that wait to run
      do not start. What runs already may still finish, and its receipt is kept.
    </KillButton>
  )
}
