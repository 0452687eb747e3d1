import { posix } from 'node:path'
import type { Check } from './project.js'

/** What is installed is what was chosen. Peers stay open: there the program that uses us chooses. */
export const pinnedDependencies: Check = (project) =>
  [...project.files]
    .filter(([path]) => /^(?:(?:packages\/[^/]+|tools|examples\/frameworks)\/)?package\.json$/.test(path))
    .flatMap(([path, content]) => {
      const manifest = JSON.parse(content) as Record<string, Record<string, string> | undefined>
      return ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides'].flatMap((field) =>
        Object.entries(manifest[field] ?? {})
          .filter(([, version]) => !/^(?:npm:@?[\w./-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
          .map(([name, version]) => `${path}: ${name} is "${version}"; pin one exact version`),
      )
    })

/** npm links a command at the install, before anything is built, and silently leaves out one whose file is not there. */
export const commandFiles: Check = (project) =>
  [...project.files]
    .filter(([path]) => /^packages\/[^/]+\/package\.json$/.test(path))
    .flatMap(([path, content]) => {
      const { bin = {} } = JSON.parse(content) as { bin?: Record<string, string> }
      return Object.entries(bin)
        .filter(([, file]) => !project.files.has(posix.join(posix.dirname(path), file)))
        .map(([name, file]) => `${path}: ${name} is ${file}, which a checkout does not hold; npx would not find it`)
    })

/** A newcomer needs two commands, and the README is where they look. */
export const readmeCommands: Check = (project) =>
  ['npm start', 'npm test']
    .filter((command) => !(project.files.get('README.md') ?? '').includes(command))
    .map((command) => `README.md: does not name "${command}"`)

/** Links between our own pages lead somewhere. */
export const deadLinks: Check = (project) => {
  const folders = new Set([...project.files.keys()].flatMap((path) => parentsOf(path)))
  return [...project.files]
    .filter(([path]) => path.endsWith('.md'))
    .flatMap(([path, content]) =>
      [...content.matchAll(/\]\((?![a-z]+:|#)([^)\s#]+)[^)]*\)/g)]
        .map((match) => match[1] ?? '')
        .filter((link) => {
          const target = posix.join(posix.dirname(path), link).replace(/\/$/, '')
          return !project.files.has(target) && !folders.has(target)
        })
        .map((link) => `${path}: the link to ${link} leads nowhere`),
    )
}

const DECISIONS = 'docs/decisions/'

/** The list of decisions names each page once, by its number, its title and its state, in the order of the numbers. */
export const decisionList: Check = (project) => {
  const pages = [...project.files.keys()].filter((path) => /^docs\/decisions\/\d{4}-/.test(path)).sort()
  const listed = (project.files.get(`${DECISIONS}README.md`) ?? '').split('\n').filter((line) => line.startsWith('| ['))
  const rows = pages
    .filter((path) => !path.endsWith('-template.md'))
    .map((path) => {
      const [, number, title] = /^# (\d{4}): (.*)/.exec(project.files.get(path) ?? '') ?? []
      const [, state] = /^State: (\w+)/m.exec(project.files.get(path) ?? '') ?? []
      return `| [${number}](${path.slice(DECISIONS.length)}) | ${title} | ${state}`
    })
  const wrong = rows.findIndex((row, at) => !listed[at]?.startsWith(row))
  if (wrong >= 0) return [`${DECISIONS}README.md: row ${wrong + 1} should be ${rows[wrong]}, and is ${listed[wrong]}`]
  return listed.slice(rows.length).map((row) => `${DECISIONS}README.md: ${row} is one row too many`)
}

function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
