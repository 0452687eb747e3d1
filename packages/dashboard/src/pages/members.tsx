import type { Invitation } from '@countersign/protocol'
import { useApi, useChange } from '../api/use-api.js'
import { Button } from '../components/basic/button.js'
import { Text } from '../components/basic/text.js'
import { Ago, Until } from '../components/basic/time.js'
import { FormProblem } from '../components/form/form-problem.js'
import { Freshness, Page, Panel } from '../components/layout/page.js'
import { Loaded } from '../components/layout/states.js'
import { plural } from '../text/format.js'
import { plainText } from '../text/visible-text.js'
import { InviteForm } from './members/invite-form.js'
import { MembersTable } from './members/members-table.js'

/** The people of the organisation, and those who are invited. */
export function MembersPage() {
  const members = useApi('listMembers', {}, { pollMs: 10_000 })
  return (
    <Page
      title="Members"
      lead="Who may sign in, and what they may do. Changes count from their next click on."
      actions={<Freshness reading={members} />}
    >
      <Loaded reading={members} rows={4}>
        {({ members: list, invitations, mail }) => (
          <>
            <MembersTable members={list} />
            <Panel
              title="Invite"
              aside={invitations.length === 0 ? undefined : `${plural(invitations.length, 'invitation')} open`}
            >
              <InviteForm mail={mail} groups={groupsOf(list)} />
              <Invitations invitations={invitations} />
            </Panel>
          </>
        )}
      </Loaded>
    </Page>
  )
}

const groupsOf = (members: readonly { readonly groups: readonly string[] }[]): string[] =>
  [...new Set(members.flatMap(({ groups }) => groups))].sort()

function Invitations({ invitations }: { invitations: readonly Invitation[] }) {
  const revoke = useChange('revokeInvitation', ['listMembers', 'listAudit'])
  if (invitations.length === 0) return null
  return (
    <>
      <ul className="rows invitations" aria-label="Open invitations">
        {invitations.map(({ invitation_id, email, role, groups, invited_by, created_at, expires_at }) => (
          <li key={invitation_id} className="key-row">
            <strong>
              <Text value={email} />
            </strong>
            <span>{role}</span>
            <span className="quiet">
              {groups.length === 0 ? null : (
                <>
                  in <Text value={groups.join(', ')} />,{' '}
                </>
              )}
              invited <Ago at={created_at} /> by <Text value={invited_by} />, ends <Until at={expires_at} />
            </span>
            <Button
              kind="danger"
              busy={revoke.isPending && revoke.variables.params.invitation_id === invitation_id}
              aria-label={`Revoke the invitation of ${plainText(email)}`}
              onClick={() => revoke.mutate({ params: { invitation_id } })}
            >
              Revoke
            </Button>
          </li>
        ))}
      </ul>
      <FormProblem problem={revoke.error} />
    </>
  )
}
