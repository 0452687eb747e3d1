import { type FormEvent, useState } from 'react'
import type { ApiProblem } from '../../api/api.js'
import { useApi, useChange } from '../../api/use-api.js'
import { Button } from '../../components/basic/button.js'
import { Field } from '../../components/form/field.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Panel } from '../../components/layout/page.js'

/** For those who sign in with a password. */
export function ChangePassword({ hasPassword }: { hasPassword: boolean }) {
  const { data: ways } = useApi('listWaysIn', {})
  const change = useChange('changePassword', ['listSignIns', 'listAudit'])
  const [differs, setDiffers] = useState(false)
  if (ways === undefined) return null
  if (!hasPassword || !ways.passwords) {
    return (
      <Panel title="Password">
        <p className="quiet">You have none here: you sign in with your company&rsquo;s provider.</p>
      </Panel>
    )
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const element = event.currentTarget
    const form = new FormData(element)
    const [current, password] = [String(form.get('current')), String(form.get('password'))]
    setDiffers(password !== form.get('again'))
    if (password === form.get('again'))
      change.mutate({ body: { current, password } }, { onSuccess: () => element.reset() })
  }
  const length = { minLength: 10, maxLength: 256, autoComplete: 'new-password', type: 'password', required: true }
  const isWrong = isWrongPassword(change.error)
  return (
    <Panel title="Password">
      <form className="form form-narrow" onSubmit={submit}>
        <Field
          label="Current password"
          name="current"
          type="password"
          autoComplete="current-password"
          maxLength={256}
          problem={isWrong ? 'This is not your password.' : undefined}
          required
        />
        <Field label="New password" name="password" hint="At least 10 characters." {...length} />
        <Field
          label="Repeat new password"
          name="again"
          problem={differs ? 'The passwords do not match.' : undefined}
          {...length}
        />
        {isWrong ? null : <FormProblem problem={change.error} />}
        {change.isSuccess ? (
          <p className="note" role="status">
            Your password was changed. You were signed out everywhere else.
          </p>
        ) : null}
        <div>
          <Button type="submit" busy={change.isPending}>
            Change password
          </Button>
        </div>
      </form>
    </Panel>
  )
}

const isWrongPassword = (problem: ApiProblem | null): boolean => problem?.detail?.startsWith('body.current:') === true
