import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Icon, type IconName } from './icon.js'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet'
  readonly icon?: IconName
  readonly busy?: boolean
  readonly children?: ReactNode
}

export function Button({ kind = 'plain', icon, busy = false, children, className, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={['button', `button-${kind}`, className].filter(Boolean).join(' ')}
      disabled={rest.disabled === true || busy}
      aria-busy={busy || undefined}
    >
      {icon === undefined ? null : <Icon name={icon} size={16} />}
      {children}
    </button>
  )
}
