import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import type { ContractSource, PlanSources } from '@countersign/engine'
import { LIMITS } from '@countersign/protocol'
import { ReplayConfigError } from '../base/errors.js'

/**
 * Reads a pack: contracts lie in the folder or in its `contracts/`, session.yaml beside them or one above. Whatever
 * cannot be read, or lies outside the folder behind a link, refuses the whole.
 */
export function readPack(folder: string): PlanSources {
  const root = resolve(folder)
  if (!existsSync(root)) throw refused(`there is no folder ${root}`, 'pass the folder with the contracts')
  if (!isFolder(root)) throw refused(`${folder} is not a folder`, 'pass the folder with the contracts')
  const inner = join(root, 'contracts')
  const contractsFolder = isFolder(inner) ? inner : root
  const boundary = realPath(root)
  const files = contractFilesIn(contractsFolder, contractsFolder !== root)
  if (files.length === 0) {
    const fix = 'add one .yaml or .json file per tool; subfolders are read only inside contracts/'
    throw refused(`${folder} contains no contract`, fix)
  }
  const contracts = files.map((file) => readWithin(boundary, file, relative(root, file)))
  const session = sessionFileOf(root, contractsFolder)
  if (session === null) return { contracts }
  const sessionRoot = realPath(dirname(session))
  return { contracts, session: readWithin(sessionRoot, session, relative(root, session)) }
}

export function readContractFiles(paths: readonly string[]): ContractSource[] {
  if (paths.length === 0) throw refused('there is no contract file', 'pass at least one')
  return paths.map((path) => {
    return readWithin(realPath(dirname(resolve(path))), resolve(path), path)
  })
}

export function readSessionFile(path: string): ContractSource {
  return readWithin(realPath(dirname(resolve(path))), resolve(path), basename(path))
}

const CONTRACT_FILE = /\.(ya?ml|json)$/i
const OTHER_FILE = /^(session|workflow)\.(ya?ml|json)$|\.test\.ya?ml$/
const SESSION_FILES = ['session.yaml', 'session.yml', 'session.json']
const MAX_FILES = 2_000
/** Made once: making one takes longer than reading a contract. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

function contractFilesIn(folder: string, isDeep: boolean): string[] {
  const entries = attempt(folder, () => readdirSync(folder, { withFileTypes: true, recursive: isDeep }))
  const files = entries
    .filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.'))
    .filter(({ name }) => CONTRACT_FILE.test(name) && !OTHER_FILE.test(name))
    .map((entry) => join(entry.parentPath, entry.name))
  if (files.length > MAX_FILES) throw refused(`${folder} contains more than ${MAX_FILES} files`, 'split the pack')
  return files.sort()
}

/** Beside the contracts, in the pack, or above a folder that is itself called `contracts`. */
function sessionFileOf(root: string, contractsFolder: string): string | null {
  const folders = new Set([root, contractsFolder, ...(basename(root) === 'contracts' ? [dirname(root)] : [])])
  const found = [...folders].flatMap((folder) => SESSION_FILES.map((name) => join(folder, name))).filter(existsSync)
  if (found.length > 1) throw refused(`there are several session files: ${found.join(', ')}`, 'keep one')
  return found[0] ?? null
}

function readWithin(boundary: string, file: string, shownAs: string): ContractSource {
  const real = realPath(file)
  if (!real.startsWith(boundary + sep))
    throw refused(`${shownAs} is a link that leads out of the folder`, 'copy the file into it')
  const name = shownAs.split(sep).join('/')
  return attempt(shownAs, () => {
    const { size } = statSync(real)
    if (size > LIMITS.planBytes) throw refused(`${shownAs} is larger than ${LIMITS.planBytes} bytes`, 'split it')
    return { file: name, text: utf8.decode(readFileSync(real)) }
  })
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

const realPath = (path: string): string => attempt(path, () => realpathSync.native(path))

function attempt<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof ReplayConfigError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new ReplayConfigError(`${path} cannot be read: ${reason}`, 'compilation_failed', { cause: error })
  }
}

const refused = (message: string, fix: string) => new ReplayConfigError(`${message}: ${fix}`, 'compilation_failed')
