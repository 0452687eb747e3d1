import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark'
const STORED = 'countersign.theme'
const system = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

/** The current theme: the user's choice, or the system's. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, currentTheme)
}

export function chooseTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme
  try {
    localStorage.setItem(STORED, theme)
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
  for (const listener of listeners) listener()
}

function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme
  if (chosen === 'light' || chosen === 'dark') return chosen
  return system.matches ? 'dark' : 'light'
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  system.addEventListener('change', listener)
  return () => {
    listeners.delete(listener)
    system.removeEventListener('change', listener)
  }
}
