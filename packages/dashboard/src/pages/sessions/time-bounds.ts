/** The filter for what happened since a whole minute, as the filters show it. */
export const since = (iso: string): { since: string; from: string } => ({ since: 'between', from: localMinute(iso) })

/** A time as an input of type `datetime-local` writes it. */
function localMinute(iso: string): string {
  const time = new Date(iso)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const HOURS: Readonly<Record<string, number>> = { '1h': 1, '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }

interface TimeChoice {
  readonly since?: string
  readonly from?: string
  readonly to?: string
}

/** The time filter as the server takes it. Spans start on a whole minute, so that polling repeats the same query. */
export function timeBounds({ since, from, to }: TimeChoice, now = Date.now()): { from?: string; to?: string } {
  const hours = HOURS[since ?? '']
  if (hours !== undefined) {
    const start = now - hours * 3_600_000
    return { from: new Date(start - (start % 60_000)).toISOString() }
  }
  return { ...bound('from', from), ...bound('to', to) }
}

/** The URL may contain anything; an invalid time sets no bound. */
function bound(name: 'from' | 'to', text: string | undefined): { from?: string; to?: string } {
  const time = new Date(text ?? '').getTime()
  return Number.isNaN(time) ? {} : { [name]: new Date(time).toISOString() }
}
