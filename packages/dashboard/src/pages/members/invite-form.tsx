import type { MailDelivery } from '@countersign/protocol'
import { type FormEvent, useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Text } from '../../components/basic/text.js'
import { Field } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { MailNote } from '../../components/layout/mail-note.js'
import { groupsIn, type Place, PlaceFields } from './place-fields.js'

const NO_PLACE: Place = { role: 'viewer', groups: '' }

/** Invites a person by mail. */
export function InviteForm({ mail, groups }: { mail: MailDelivery; groups: readonly string[] }) {
  const [email, setEmail] = useState('')
  const [place, setPlace] = useState(NO_PLACE)
  const invite = useChange('inviteMember', ['listMembers', 'listAudit'])
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    invite.mutate(
      { body: { email, role: place.role, groups: groupsIn(place.groups) } },
      {
        onSuccess: () => {
          setEmail('')
          setPlace(NO_PLACE)
        },
      },
    )
  }
  return (
    <form className="invite-form" onSubmit={submit}>
      <Field
        label="Email"
        type="email"
        autoComplete="off"
        maxLength={254}
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        required
      />
      <PlaceFields place={place} onChange={setPlace} known={groups} />
      <Button kind="primary" type="submit" busy={invite.isPending}>
        Invite
      </Button>
      <FormProblem problem={invite.error} />
      {invite.data === undefined ? null : (
        <p className="note" role="status">
          <Text value={invite.data.email} /> is invited as {invite.data.role}, for seven days.{' '}
          <MailNote mail={mail} to={invite.data.email} />
        </p>
      )}
    </form>
  )
}
