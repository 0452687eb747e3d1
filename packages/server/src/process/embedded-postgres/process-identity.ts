import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * What distinguishes this process from every other that had or will have its pid: when it started, and in which boot.
 * Null when no such process runs; a zombie does not run.
 */
export async function processIdentity(pid: number): Promise<string | null> {
  return process.platform === 'linux' ? identityFromProc(pid) : identityFromPs(pid)
}

/** The command line of a process, or null when it is gone or cannot be read. */
export async function processCommand(pid: number): Promise<string | null> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => null)
    return text === null ? null : text.replaceAll('\0', ' ').trim()
  }
  return run('ps', ['-o', 'args=', '-p', String(pid)]).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  )
}

async function identityFromProc(pid: number): Promise<string | null> {
  const [stat, boot] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null),
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => 'boot'),
  ])
  if (stat === null) return null
  // The second field is the program's name in brackets and may hold spaces: read on from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startedAtTicks] = [fields[0], fields[19]]
  return state === 'Z' || state === 'X' || startedAtTicks === undefined ? null : `${boot.trim()}/${startedAtTicks}`
}

async function identityFromPs(pid: number): Promise<string | null> {
  const line = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { env: { LC_ALL: 'C' } }).then(
    ({ stdout }) => stdout.trim(),
    () => '',
  )
  return line === '' || line.startsWith('Z') ? null : line.replace(/^\S+\s+/, '')
}
