import type { SignInView } from '@countersign/protocol'
import { useApi, useChange } from '../../api/use-api.js'
import { Badge } from '../../components/basic/badge.js'
import { Button } from '../../components/basic/button.js'
import { Name, Text } from '../../components/basic/text.js'
import { Ago, Until } from '../../components/basic/time.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { Panel } from '../../components/layout/page.js'
import { Loaded } from '../../components/layout/states.js'
import { browserWords } from '../../text/browser-words.js'
import { signInWords } from '../../text/roles.js'
import { plainText } from '../../text/visible-text.js'

/** Where one is signed in; each but this one can be ended from here. */
export function SignIns() {
  const signIns = useApi('listSignIns', {}, { pollMs: 15_000 })
  const end = useChange('endSignIn', ['listSignIns', 'listAudit'])
  return (
    <Panel title="Signed in">
      <Loaded reading={signIns} rows={2}>
        {({ sign_ins }) => (
          <ul className="rows">
            {sign_ins.map((signIn) => (
              <SignInRow
                key={signIn.sign_in_id}
                signIn={signIn}
                busy={end.isPending && end.variables.params.sign_in_id === signIn.sign_in_id}
                onEnd={() => end.mutate({ params: { sign_in_id: signIn.sign_in_id } })}
              />
            ))}
          </ul>
        )}
      </Loaded>
      <FormProblem problem={end.error} />
    </Panel>
  )
}

interface SignInRowProps {
  readonly signIn: SignInView
  readonly busy: boolean
  readonly onEnd: () => void
}

function SignInRow({ signIn: { browser, ip, method, started_at, expires_at, current }, busy, onEnd }: SignInRowProps) {
  const words = browserWords(browser)
  return (
    <li className="key-row">
      <strong title={browser === null ? undefined : plainText(browser)}>
        <Text value={words} />
      </strong>
      {ip === null ? <span className="quiet">unknown</span> : <Name value={ip} />}
      <span className="quiet">
        since <Ago at={started_at} /> <Text value={signInWords(method)} />, ends <Until at={expires_at} />
      </span>
      {current ? (
        <Badge tone="accent">this one</Badge>
      ) : (
        <Button kind="danger" busy={busy} onClick={onEnd} aria-label={`Sign out ${plainText(words)}`}>
          Sign out
        </Button>
      )}
    </li>
  )
}
