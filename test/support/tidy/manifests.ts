import { posix } from 'node:path'
import type { Check, Project } from './project.js'

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

const decisionPages = ({ files }: Project): string[] =>
  [...files.keys()].filter((path) => /^docs\/decisions\/\d{4}-/.test(path)).sort()

/** The list of decisions names each page once, by its number and its title, in the order of the numbers. */
export const decisionList: Check = (project) => {
  const listed = (project.files.get(`${DECISIONS}README.md`) ?? '').split('\n').filter((line) => line.startsWith('| ['))
  const rows = decisionPages(project)
    .filter((path) => !path.endsWith('-template.md'))
    .map((path) => {
      const [, number, title] = /^# (\d{4}): (.*)/.exec(project.files.get(path) ?? '') ?? []
      return `| [${number}](${path.slice(DECISIONS.length)}) | ${title} |`
    })
  const wrong = rows.findIndex((row, at) => listed[at] !== row)
  if (wrong >= 0) return [`${DECISIONS}README.md: row ${wrong + 1} should be ${rows[wrong]}, and is ${listed[wrong]}`]
  return listed.slice(rows.length).map((row) => `${DECISIONS}README.md: ${row} is one row too many`)
}

const MOST_DECISIONS = 40
const MOST_WORDS = 300

/** Decisions are few and short, or nobody reads them. */
export const decisionSizes: Check = (project) => {
  const pages = decisionPages(project)
  const few = pages.filter((path) => !path.endsWith('-template.md')).length <= MOST_DECISIONS
  return [
    ...(few ? [] : [`${DECISIONS}: more than ${MOST_DECISIONS} pages; merge those on one subject`]),
    ...pages.flatMap((path) => {
      const words = project.files.get(path)?.match(/\S*\w\S*/g)?.length ?? 0
      return words <= MOST_WORDS ? [] : [`${path}: ${words} words; say it in ${MOST_WORDS}`]
    }),
  ]
}

/** A decision that is named by its number is there. Migrations never change and name earlier numbers. */
export const decisionNumbers: Check = (project) => {
  const numbers = new Set(decisionPages(project).map((path) => path.slice(DECISIONS.length, DECISIONS.length + 4)))
  return [...project.files].flatMap(([path, content]) =>
    /\/migrations\/|\.test\.ts$|\.json$/.test(path)
      ? []
      : [...content.matchAll(/\bdecisions?(?:\s+(?:\*\s+)?|\/)(0\d{3})\b/gi)]
          .map((match) => match[1] ?? '')
          .filter((number) => !numbers.has(number))
          .map((number) => `${path}: there is no decision ${number}`),
  )
}

function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
