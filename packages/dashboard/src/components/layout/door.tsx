import type { ReactNode } from 'react'
import { Mark } from '../basic/icon.js'

interface DoorProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly wide?: boolean
  readonly children: ReactNode
}

/** The layout of pages that need no sign-in. */
export function Door({ title, lead, wide = false, children }: DoorProps) {
  return (
    <main className={wide ? 'door door-wide' : 'door'}>
      <title>{`${title} · Countersign`}</title>
      <div className="door-brand">
        <Mark size={34} />
        <span>Countersign</span>
      </div>
      <section className="door-card">
        <h1>{title}</h1>
        {lead === undefined ? null : <p className="lead">{lead}</p>}
        {children}
      </section>
    </main>
  )
}
