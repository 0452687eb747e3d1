import { useState } from 'react'

/** The token of a mailed link (`#token=…`), read once and then removed from the URL. Null when there is none. */
export function useFragmentToken(): string | null {
  const [token] = useState(() => {
    const found = new URLSearchParams(location.hash.slice(1)).get('token')
    if (found !== null) history.replaceState(history.state, '', location.pathname + location.search)
    return found
  })
  return token
}
