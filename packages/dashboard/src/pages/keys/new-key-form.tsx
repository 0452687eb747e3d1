import type { Environment, KeyView } from '@countersign/protocol'
import { type FormEvent, useState } from 'react'
import { useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Field, Select } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { ACCESS_OPTIONS } from './key-scope.js'

const ENVIRONMENTS = [
  { value: '', label: 'All' },
  ...['development', 'staging', 'production'].map((value) => ({ value, label: value })),
]
const LIVES = [
  { value: '', label: 'Never' },
  { value: '1', label: 'In one day' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]
const PRINCIPALS = [
  { value: '', label: 'Whom the program names' },
  { value: 'none', label: 'No person' },
]
const UNLIMITED = { access: 'all' as KeyView['access'], agent: '', environment: '', principal: '', days: '' }

interface NewKeyFormProps {
  readonly full: boolean
  readonly limit: number
  readonly onMade: (apiKey: string) => void
}

/** A name is enough; what the key is limited to is folded away. */
export function NewKeyForm({ full, limit, onMade }: NewKeyFormProps) {
  const create = useChange('createKey', ['listKeys', 'loadLimits', 'listAudit'])
  const [name, setName] = useState('')
  const [limits, setLimits] = useState(UNLIMITED)
  const set = (changed: Partial<typeof UNLIMITED>) => setLimits({ ...limits, ...changed })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const { access, agent, environment, principal, days } = limits
    const body = {
      name: name.trim(),
      access,
      ...(agent.trim() === '' ? {} : { agent: agent.trim() }),
      ...(environment === '' ? {} : { environment: environment as Environment }),
      ...(principal === 'none' ? { principal: 'none' as const } : {}),
      ...(days === '' ? {} : { expires_at: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }),
    }
    create.mutate(
      { body },
      {
        onSuccess: ({ api_key }) => {
          setName('')
          setLimits(UNLIMITED)
          onMade(api_key)
          scrollTo({ top: 0 })
        },
      },
    )
  }
  if (full) return <p className="quiet">All {limit} keys are in use. Revoke one to create another.</p>
  return (
    <form className="inline-form" onSubmit={submit}>
      <Field
        label="Name of the new key"
        placeholder="For example, billing worker"
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
      />
      <Button kind="primary" type="submit" busy={create.isPending}>
        Create key
      </Button>
      <details className="more">
        <summary>Limit what it can do</summary>
        <div className="form-columns">
          <Select
            label="Access"
            hint={ACCESS_OPTIONS.find(({ value }) => value === limits.access)?.words}
            value={limits.access}
            options={ACCESS_OPTIONS}
            onChange={(access) => set({ access: access as KeyView['access'] })}
          />
          <Field
            label="Agent"
            hint="Empty: all agents"
            maxLength={128}
            autoComplete="off"
            value={limits.agent}
            onChange={(event) => set({ agent: event.target.value })}
          />
          <Select
            label="Environment"
            value={limits.environment}
            options={ENVIRONMENTS}
            onChange={(environment) => set({ environment })}
          />
          <Select
            label="Sessions act for"
            hint="A question that the one acted for must not answer needs a proven person, or none."
            value={limits.principal}
            options={PRINCIPALS}
            onChange={(principal) => set({ principal })}
          />
          <Select label="Expires" value={limits.days} options={LIVES} onChange={(days) => set({ days })} />
        </div>
      </details>
      <FormProblem problem={create.error} />
    </form>
  )
}
