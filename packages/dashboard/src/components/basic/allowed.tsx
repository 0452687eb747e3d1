import type { ReactNode } from 'react'
import type { Callable } from '../../api/api.js'
import { useMay } from '../../api/use-may.js'

interface AllowedProps {
  /** The route that is called. */
  readonly to: Callable
  /** Who can do it, for those who cannot and would look for it here. */
  readonly otherwise?: string
  readonly children: ReactNode
}

/** Shown to those whose role allows it. */
export function Allowed({ to, otherwise, children }: AllowedProps) {
  const may = useMay()
  if (may(to)) return children
  return otherwise === undefined ? null : <span className="quiet">{otherwise}</span>
}
