import { useEffect, useState } from 'react'
import { Button } from './button.js'

/** Copies text and confirms it. */
export function CopyButton({ text, label = 'Copy', what }: { text: string; label?: string; what?: string }) {
  const [state, setState] = useState<'ready' | 'copied' | 'refused'>('ready')
  useEffect(() => {
    if (state === 'ready') return
    const timer = setTimeout(() => setState('ready'), 2_000)
    return () => clearTimeout(timer)
  }, [state])
  const copy = () =>
    navigator.clipboard === undefined
      ? setState('refused')
      : navigator.clipboard.writeText(text).then(
          () => setState('copied'),
          () => setState('refused'),
        )
  return (
    <Button
      kind="quiet"
      icon={state === 'copied' ? 'check' : 'copy'}
      onClick={() => void copy()}
      aria-label={what === undefined ? undefined : `${label} ${what}`}
    >
      <span aria-live="polite">{state === 'copied' ? 'Copied' : state === 'refused' ? 'Select and copy' : label}</span>
    </Button>
  )
}
