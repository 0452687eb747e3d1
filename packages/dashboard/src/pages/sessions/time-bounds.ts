const HOURS: Readonly<Record<string, number>> = { '1h': 1, '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }

interface Asked {
  readonly since?: string
  readonly from?: string
  readonly to?: string
}

/** The time asked for, as the server takes it. Spans end now and start on a whole minute, so that polling asks the same. */
export function timeBounds({ since, from, to }: Asked, now = Date.now()): { from?: string; to?: string } {
  const hours = HOURS[since ?? '']
  if (hours !== undefined) {
    const start = now - hours * 3_600_000
    return { from: new Date(start - (start % 60_000)).toISOString() }
  }
  return { ...bound('from', from), ...bound('to', to) }
}

/** An address may hold anything; what is no time bounds nothing. */
function bound(name: 'from' | 'to', text: string | undefined): { from?: string; to?: string } {
  const time = new Date(text ?? '').getTime()
  return Number.isNaN(time) ? {} : { [name]: new Date(time).toISOString() }
}
