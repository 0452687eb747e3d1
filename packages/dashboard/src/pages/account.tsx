import { type FormEvent, useState } from 'react'
import type { Answer } from '../api/api.js'
import { useApi, useChange } from '../api/use-api.js'
import { Button } from '../components/basic/button.js'
import { Text } from '../components/basic/text.js'
import { Field } from '../components/form/field.js'
import { FormProblem } from '../components/form/form-problem.js'
import { Page, Panel } from '../components/layout/page.js'
import { Loaded } from '../components/layout/states.js'
import { ROLE_WORDS } from '../text/roles.js'
import { ChangePassword } from './account/change-password.js'
import { OwnProviders } from './account/own-providers.js'
import { SignIns } from './account/sign-ins.js'

type User = Answer<'me'>['user']

/** One's own account. */
export function AccountPage() {
  const me = useApi('me', {})
  return (
    <Page title="Your account" lead="Who you are here, and where you are signed in.">
      <Loaded reading={me} rows={4}>
        {({ user }) => (
          <>
            <Panel title="You">
              <dl className="facts">
                <div>
                  <dt>Email</dt>
                  <dd>
                    <Text value={user.email} />
                  </dd>
                </div>
                <div>
                  <dt>Organisation</dt>
                  <dd>
                    <Text value={user.tenant_name} />
                  </dd>
                </div>
                <div>
                  <dt>Role</dt>
                  <dd>{user.role}</dd>
                </div>
                <div>
                  <dt>Groups</dt>
                  <dd>{user.groups.length === 0 ? 'none' : <Text value={user.groups.join(', ')} />}</dd>
                </div>
              </dl>
              <p className="quiet">{ROLE_WORDS[user.role].may}</p>
              <NameForm user={user} />
            </Panel>
            <SignIns />
            <OwnProviders />
            <ChangePassword hasPassword={user.has_password} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function NameForm({ user }: { user: User }) {
  const [name, setName] = useState(user.name ?? '')
  const rename = useChange('renameMyself', ['me', 'listMembers'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    rename.mutate({ body: { name: name.trim() } })
  }
  return (
    <form className="inline-form" onSubmit={submit}>
      <Field
        label="Your name"
        autoComplete="name"
        maxLength={100}
        pattern=".*\S.*"
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
      />
      <Button type="submit" busy={rename.isPending} disabled={name.trim() === (user.name ?? '')}>
        Save name
      </Button>
      <FormProblem problem={rename.error} />
    </form>
  )
}
