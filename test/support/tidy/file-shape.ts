import { type Check, isTest, type Project } from './project.js'

const THINK_ABOVE = 300
const REFUSE_ABOVE = 600

const linesOf = (content: string) => content.trimEnd().split('\n').length

/** Lengths are tripwires: the first sets one thinking (it is printed), the second fails. */
export const oversizedFiles: Check = (project) => longerThan(project, REFUSE_ABOVE)
export const largeFiles: Check = (project) => longerThan(project, THINK_ABOVE)

function longerThan(project: Project, limit: number): string[] {
  return [...project.files]
    .filter(([path]) => /\.(?:ts|tsx|mjs|css)$/.test(path))
    .map(([path, content]) => ({ path, lines: linesOf(content) }))
    .filter(({ lines }) => lines > limit)
    .map(({ path, lines }) => `${path}: ${lines} lines, above ${limit}; does it hold more than one idea?`)
}

const SAYS_NOTHING = /(?:^|-)(?:utils?|helpers?|services?|managers?)$|^types?$|^common$|^misc$/

/** Names say what a file holds: kebab-case, and none of the words that could hold anything. */
export const fileNames: Check = (project) =>
  project.sources.flatMap(({ path }) => {
    const parts = path.split('/')
    const stem = (parts.pop() ?? '').replace(/\.(?:d\.ts|ts|tsx|mjs)$/, '').replace(/\.(?:test|config)$/, '')
    const empty = [...parts, stem].filter((word) => SAYS_NOTHING.test(word))
    return [
      ...empty.map((word) => `${path}: "${word}" says nothing; name it after what it holds`),
      ...(/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(stem) ? [] : [`${path}: file names are kebab-case`]),
    ]
  })

/** Vite and Vitest ask for default exports in their own files. */
const MAY_EXPORT_DEFAULT = /\.config\.ts$|^test\/support\/postgres\/[\w-]+-setup\.ts$/

export const defaultExports: Check = (project) =>
  project.sources
    .filter(
      ({ path, text }) => !MAY_EXPORT_DEFAULT.test(path) && /\bexport\s+default\b|\bas\s+default\b/.test(text.bare),
    )
    .map(({ path }) => `${path}: exports a default; give the export a name`)

/** A test left alone or left out would let the others rot unseen. */
export const focusedTests: Check = (project) =>
  project.sources
    .filter(({ path, text }) => isTest(path) && /\b(?:test|describe)\.(?:only|todo)\b/.test(text.bare))
    .map(({ path }) => `${path}: holds a focused or unwritten test`)

/** One name for one thing: Vitest knows `it` as well. */
export const testsByName: Check = (project) =>
  project.sources
    .filter(({ path, text }) => isTest(path) && /(?<![.\w$])it(?:\.\w+)*\s*[(<]/.test(text.bare))
    .map(({ path }) => `${path}: writes it() for test()`)
