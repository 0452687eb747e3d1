import type { Role } from '@countersign/protocol'
import { Text } from '../../components/basic/text.js'
import { Field, Select } from '../../components/form/field.js'
import { ROLE_OPTIONS, ROLE_WORDS } from '../../text/roles.js'

/** What a member may do, and the groups they are in, as a form has them. */
export interface Place {
  readonly role: Role
  readonly groups: string
}

interface PlaceFieldsProps {
  readonly place: Place
  readonly onChange: (place: Place) => void
  /** Groups that other members are in. */
  readonly known: readonly string[]
  /** Why the role cannot be changed. */
  readonly fixed?: string | undefined
}

const GROUP = '[A-Za-z][A-Za-z0-9_\\-]{0,63}'

export function PlaceFields({ place, onChange, known, fixed }: PlaceFieldsProps) {
  return (
    <>
      <Select
        label="Role"
        hint={fixed ?? ROLE_WORDS[place.role].may}
        disabled={fixed !== undefined}
        value={place.role}
        options={ROLE_OPTIONS}
        onChange={(role) => onChange({ ...place, role: role as Role })}
      />
      <Field
        label="Groups (optional)"
        hint={
          known.length === 0 ? (
            'For example finance, on-call'
          ) : (
            <>
              In use: <Text value={known.join(', ')} />
            </>
          )
        }
        pattern={`[\\s,]*${GROUP}([\\s,]+${GROUP})*[\\s,]*`}
        title="Names of letters, digits, - and _, with commas between them"
        autoComplete="off"
        value={place.groups}
        onChange={(event) => onChange({ ...place, groups: event.target.value })}
      />
    </>
  )
}

export const groupsIn = (text: string): string[] => [
  ...new Set(
    text
      .toLowerCase()
      .split(/[\s,]+/)
      .filter((name) => name !== ''),
  ),
]
