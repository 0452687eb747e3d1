import { useEffect, useState } from 'react'
import { ago, fullTime, until } from '../../text/format.js'

/** How long ago, updated as time passes; the exact time on hover. */
export function Ago({ at }: { at: string }) {
  const now = useNow()
  return (
    <time dateTime={at} title={fullTime(at)}>
      {ago(at, now)}
    </time>
  )
}

/** How long until then; the exact time on hover. */
export function Until({ at }: { at: string }) {
  const now = useNow()
  return (
    <time dateTime={at} title={fullTime(at)}>
      {until(at, now)}
    </time>
  )
}

/** The current time, updated every few seconds. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000)
    return () => clearInterval(timer)
  }, [])
  return now
}
