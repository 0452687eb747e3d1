/** In this order: most browsers also say that they are another. */
const BROWSERS = [
  ['Edge', /\bEdg/],
  ['Opera', /\bOPR\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /(Chrome|Chromium|CriOS)\//],
  ['Safari', /\bSafari\//],
] as const
const SYSTEMS = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(iPhone|iPad)\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
] as const

/** What a browser says it is, in two words; what says something else is shown as it is. */
export function browserWords(userAgent: string | null): string {
  if (userAgent === null || userAgent === '') return 'Unknown browser'
  const [browser, system] = [BROWSERS, SYSTEMS].map((known) => known.find(([, sign]) => sign.test(userAgent))?.[0])
  if (browser === undefined) return userAgent.slice(0, 60)
  return system === undefined ? browser : `${browser} on ${system}`
}
