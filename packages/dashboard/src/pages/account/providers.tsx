import type { Answer } from '../../api/api.js'
import { Text } from '../../components/basic/text.js'

interface ProvidersProps {
  readonly providers: Answer<'listWaysIn'>['providers']
  /** The page of this site to open afterwards. */
  readonly next?: string | undefined
  /** For a person who is signed in: adds the provider to their account. */
  readonly isAdding?: boolean
}

/** Signing in elsewhere: the browser leaves this site, so these are plain links. */
export function Providers({ providers, next, isAdding = false }: ProvidersProps) {
  if (providers.length === 0) return null
  const query = new URLSearchParams({ ...(next === undefined ? {} : { next }), ...(isAdding ? { link: '1' } : {}) })
  const search = query.size === 0 ? '' : `?${query}`
  return (
    <div className="providers">
      {providers.map(({ id, name }) => (
        <a key={id} className="button button-plain" href={`/api/auth/oidc/${encodeURIComponent(id)}/start${search}`}>
          {isAdding ? 'Add' : 'Sign in with'} <Text value={name} />
        </a>
      ))}
    </div>
  )
}
