interface BarProps {
  readonly value: number
  readonly max: number
  readonly tone?: 'block' | 'calm' | 'allow'
}

/** A share as a length. Decorative: the number is next to it. */
export function Bar({ value, max, tone = 'block' }: BarProps) {
  const share = max === 0 ? 0 : Math.min(1, Math.max(0, value / max))
  return (
    <div className={`bar bar-${tone}`} aria-hidden="true">
      {share === 0 ? null : <span style={{ width: `${share * 100}%` }} />}
    </div>
  )
}
