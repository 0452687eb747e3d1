import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The project's own files, relative to the root: all that .gitignore does not name. Works in a copy without git, too. */
export function trackedFiles(): string[] {
  const isIgnored = ignoredBy(readFileSync(`${root}.gitignore`, 'utf8'))
  const walk = (folder: string): string[] =>
    readdirSync(`${root}${folder}`, { withFileTypes: true }).flatMap((entry) => {
      if (entry.name === '.git' || isIgnored(entry.name, entry.isDirectory())) return []
      return entry.isDirectory() ? walk(`${folder}${entry.name}/`) : [`${folder}${entry.name}`]
    })
  return walk('').sort()
}

/** Knows the two forms that ours uses, `folder/` and `*.ending`, and refuses others rather than misread them. */
export function ignoredBy(gitignore: string): (name: string, isFolder: boolean) => boolean {
  const patterns = gitignore.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const odd = patterns.find((pattern) => !/^(?:[\w.-]+\/|\*\.\w+)$/.test(pattern))
  if (odd !== undefined) throw new Error(`.gitignore: write "${odd}" as "folder/" or "*.ending"`)
  const folders = new Set(patterns.filter((pattern) => pattern.endsWith('/')).map((pattern) => pattern.slice(0, -1)))
  const endings = patterns.filter((pattern) => pattern.startsWith('*')).map((pattern) => pattern.slice(1))
  return (name, isFolder) => (isFolder ? folders.has(name) : endings.some((ending) => name.endsWith(ending)))
}
