import { useApi } from '../../api/use-api.js'
import { Panel } from '../../components/layout/page.js'
import { Providers } from './providers.js'

/** Adds a way to sign in to the account. */
export function OwnProviders() {
  const { data: ways } = useApi('listWaysIn', {})
  if (ways === undefined || ways.providers.length === 0) return null
  return (
    <Panel title="Company sign-in">
      <p className="quiet">Add the provider once, and from then on you can also sign in there.</p>
      <div className="toolbar">
        <Providers providers={ways.providers} next="/account" isAdding />
      </div>
    </Panel>
  )
}
