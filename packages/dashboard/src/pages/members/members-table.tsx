import type { Member } from '@countersign/protocol'
import { useState } from 'react'
import { useApi, useChange } from '../../api/use-api.js'
import { Badge } from '../../components/basic/badge.js'
import { Button } from '../../components/basic/button.js'
import { None } from '../../components/basic/none.js'
import { Text } from '../../components/basic/text.js'
import { Ago } from '../../components/basic/time.js'
import { ConfirmDialog } from '../../components/form/confirm-dialog.js'
import { signInWords } from '../../text/roles.js'
import { plainText } from '../../text/visible-text.js'
import { groupsIn, PlaceFields } from './place-fields.js'

const STALE = ['listMembers', 'listAudit', 'me'] as const

interface Asking {
  readonly about: 'change' | 'disable' | 'enable' | 'remove'
  readonly member: Member
}

export function MembersTable({ members }: { members: readonly Member[] }) {
  const [asking, setAsking] = useState<Asking | null>(null)
  const { data: me } = useApi('me', {})
  const owners = members.filter(({ role, disabled_at }) => role === 'owner' && disabled_at === null)
  const isLastOwner = (member: Member) => owners.length === 1 && owners[0]?.user_id === member.user_id
  return (
    <>
      <table className="table table-cards members">
        <thead>
          <tr>
            <th scope="col" className="column-who">
              Member
            </th>
            <th scope="col">Role</th>
            <th scope="col">Groups</th>
            <th scope="col">Last sign-in</th>
            <th scope="col" className="right">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <MemberRow
              key={member.user_id}
              member={member}
              isMe={member.user_id === me?.user.user_id}
              onAsk={(about) => setAsking({ about, member })}
            />
          ))}
        </tbody>
      </table>
      {asking === null ? null : asking.about === 'change' ? (
        <ChangePlace
          member={asking.member}
          known={[...new Set(members.flatMap(({ groups }) => groups))].sort()}
          isLastOwner={isLastOwner(asking.member)}
          onClose={() => setAsking(null)}
        />
      ) : asking.about === 'remove' ? (
        <Remove member={asking.member} onClose={() => setAsking(null)} />
      ) : (
        <Disable member={asking.member} disabled={asking.about === 'disable'} onClose={() => setAsking(null)} />
      )}
    </>
  )
}

interface MemberRowProps {
  readonly member: Member
  readonly isMe: boolean
  readonly onAsk: (about: Asking['about']) => void
}

function MemberRow({ member, isMe, onAsk }: MemberRowProps) {
  const { email, name, role, groups, disabled_at, last_sign_in } = member
  const act = (about: Asking['about'], word: string) => (
    <Button kind="quiet" onClick={() => onAsk(about)} aria-label={`${word} ${plainText(email)}`}>
      {word}
    </Button>
  )
  return (
    <tr>
      <th scope="row" className="cell-main">
        <Text value={email} />
        {name === null && !isMe ? null : (
          <span className="cell-note">
            {name === null ? null : <Text value={name} />}
            {name === null || !isMe ? '' : ', '}
            {isMe ? 'you' : ''}
          </span>
        )}
      </th>
      <td data-label="Role">
        <span>
          {role} {disabled_at === null ? null : <Badge tone="block">disabled</Badge>}
        </span>
      </td>
      <td data-label="Groups" className={groups.length === 0 ? 'cell-none' : undefined}>
        {groups.length === 0 ? <None /> : <Text value={groups.join(', ')} />}
      </td>
      <td data-label="Last sign-in">
        {last_sign_in === null ? (
          <span className="quiet">never</span>
        ) : (
          <span>
            <Ago at={last_sign_in.at} />
            <span className="cell-note">
              <Text value={signInWords(last_sign_in.method)} />
            </span>
          </span>
        )}
      </td>
      <td className="right member-acts">
        {act('change', 'Change')}
        {/* Members cannot lock themselves out by a slip. */}
        {isMe ? null : disabled_at === null ? act('disable', 'Disable') : act('enable', 'Enable')}
        {isMe ? null : act('remove', 'Remove')}
      </td>
    </tr>
  )
}

interface DialogProps {
  readonly member: Member
  readonly onClose: () => void
}

interface ChangePlaceProps extends DialogProps {
  readonly known: readonly string[]
  readonly isLastOwner: boolean
}

function ChangePlace({ member, known, isLastOwner, onClose }: ChangePlaceProps) {
  const [place, setPlace] = useState({ role: member.role, groups: member.groups.join(', ') })
  const change = useChange('changeMember', STALE)
  const params = { user_id: member.user_id }
  return (
    <ConfirmDialog
      title="Change role and groups"
      confirm="Save"
      change={change}
      onClose={onClose}
      onConfirm={() =>
        change.mutate({ params, body: { role: place.role, groups: groupsIn(place.groups) } }, { onSuccess: onClose })
      }
    >
      <p>
        <Text value={member.email} />
      </p>
      <PlaceFields
        place={place}
        onChange={setPlace}
        known={known}
        fixed={isLastOwner ? 'The last owner who can sign in. Make another member an owner first.' : undefined}
      />
    </ConfirmDialog>
  )
}

function Disable({ member, disabled, onClose }: DialogProps & { readonly disabled: boolean }) {
  const change = useChange('changeMember', STALE)
  const params = { user_id: member.user_id }
  return (
    <ConfirmDialog
      title={disabled ? 'Disable this member?' : 'Enable this member?'}
      confirm={disabled ? 'Disable' : 'Enable'}
      kind={disabled ? 'danger' : 'primary'}
      change={change}
      onClose={onClose}
      onConfirm={() => change.mutate({ params, body: { disabled } }, { onSuccess: onClose })}
    >
      <p>
        <Text value={member.email} />{' '}
        {disabled
          ? 'is signed out at once and cannot sign in until an owner enables them again. Role and groups stay.'
          : `can sign in again, as ${member.role}.`}
      </p>
      {disabled ? <p>API keys that they created still work. Revoke those they may have kept.</p> : null}
    </ConfirmDialog>
  )
}

function Remove({ member, onClose }: DialogProps) {
  const remove = useChange('removeMember', STALE)
  const params = { user_id: member.user_id }
  return (
    <ConfirmDialog
      title="Remove this member?"
      confirm="Remove member"
      kind="danger"
      change={remove}
      onClose={onClose}
      onConfirm={() => remove.mutate({ params }, { onSuccess: onClose })}
    >
      <p>
        <Text value={member.email} /> is signed out at once and cannot sign in any more. Name and address are erased
        from the members. This cannot be undone, but you can invite the address again.
      </p>
      <p>
        What they did stays: in the audit trail, under the address they had, and in plans they decided. API keys that
        they created still work; revoke those they may have kept.
      </p>
    </ConfirmDialog>
  )
}
