import { useState } from 'react'
import { useApi } from '../../api/use-api.js'
import { ROLE_WORDS } from '../../text/roles.js'
import { Button } from '../basic/button.js'
import { Icon } from '../basic/icon.js'

/** Says that the role was changed while the pages were open, which is why they look different now. */
export function RoleNote() {
  const user = useApi('me', {}).data?.user
  const [before, setBefore] = useState(user)
  if (user === undefined || user.user_id !== before?.user_id || user.role === before.role) return null
  return (
    <div className="strip strip-warn" role="status">
      <Icon name="alert" size={18} />
      <p>
        <strong>You are {ROLE_WORDS[user.role].as} now.</strong> Your role was changed from {before.role}. The pages
        show what you may do from now on.
      </p>
      <Button onClick={() => setBefore(user)}>OK</Button>
    </div>
  )
}
