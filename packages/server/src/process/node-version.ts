/** The first release of each line of Node.js in which texts such as "1048576" cannot be made to collide (CVE-2026-21717). */
const FIRST_SAFE: Readonly<Record<number, readonly [minor: number, patch: number]>> = {
  20: [20, 2],
  22: [22, 2],
  24: [14, 1],
  25: [8, 2],
}

/** What is wrong with the Node.js that a service runs on, as `process.versions.node` names it. Null: nothing is known. */
export function nodeVersionProblem(version: string): string | null {
  const [line = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const [safeMinor, safePatch] = FIRST_SAFE[line] ?? [0, 0]
  const isSafe = line > 25 || (line in FIRST_SAFE && (minor > safeMinor || (minor === safeMinor && patch >= safePatch)))
  if (isSafe) return null
  const lines = Object.entries(FIRST_SAFE).map(([safe, rest]) => `${safe}.${rest.join('.')}`)
  return (
    `Node.js ${version} reads some bodies so slowly that one request can block the service for seconds ` +
    `(CVE-2026-21717): use one of the releases ${lines.join(', ')}, or a later one of their lines`
  )
}
