import { type Check, isTest, type Source, shipped } from './project.js'

/** Files that keep something beyond a request outside of the table of memories, and what bounds it there. */
export const BOUNDED_OTHERWISE: Readonly<Record<string, string>> = {
  'base/work/fair-queue.ts': 'by the number of works that may wait, in all and for one owner',
  'accounts/principals/issuer-keys.ts': 'one address for each issuer whose keys are being read',
  'base/iso-time.ts': '256 minutes',
  'base/lasting-trouble.ts': 'one text for each of the jobs',
  'base/stored-path.ts': 'goes with the plan that it belongs to',
  'base/work/used-time.ts':
    'owners that used a millisecond within the last minutes; above 1,000 the others are forgotten',
  'captures/capture-recorder.ts': 'counted in the memory captures',
  'captures/waiting-bytes.ts': 'a number for each tenant whose captures wait, counted in the memory captures',
  'captures/learn-captures.ts': 'one name for each database',
  'context/plan-cost.ts': 'goes with the plan that it belongs to',
  'context/plans-in-place.ts': 'one name for each plan that is being prepared',
  'entry/authenticate.ts': 'one key for each connection',
  'questions/session-questions.ts': 'one number for each tenant whose requests wait',
  'entry/senders.ts': 'one tenant and what proved it for each connection',
  'context/json-body.ts': 'one for each shape of the protocol',
  'base/work/admission-limit.ts': 'requests that wait, which connections bound',
  'postgres/hosts.ts': 'the pools of the process',
  'postgres/statement-names.ts': 'at most a thousand texts of statements',
  'postgres/values.ts': 'one name for each column of a statement',
  'postgres/primary-watch.ts': 'one report for each host of DATABASE_URL, and connections of the pool',
  'runs/judge-page.ts': 'the plan of the run that is judged',
  'runs/judge-run.ts': 'the runs that this process judges',
  'store/sessions/session-head.ts': 'goes with the session that it belongs to, and is counted there',
}

const SERVER = 'packages/server/src/'

/**
 * What the server keeps beyond a request is a memory of `base/memories.ts`, or is named in the table with what
 * bounds it. Seen are collections that start empty, at the top of a file or of a function that makes something lasting.
 */
export const longLived =
  (bounded: Readonly<Record<string, string>>): Check =>
  (project) => {
    const server = shipped(project).filter(({ path }) => path.startsWith(SERVER) && !isTest(path))
    const keeping = server.flatMap(collectionsIn)
    const files = new Set(keeping.map(({ file }) => file))
    return [
      ...keeping
        .filter(({ file }) => bounded[file] === undefined)
        .map(
          ({ file, name }) =>
            `${SERVER}${file}: ${name} outlives a request; make it a memory of base/memories.ts, or say in BOUNDED_OTHERWISE what bounds it`,
        ),
      ...Object.keys(bounded)
        .filter((file) => !files.has(file))
        .map((file) => `${SERVER}${file}: keeps nothing any more; take it out of BOUNDED_OTHERWISE`),
    ]
  }

const TOP = /^(?:export )?(?:async )?(?:function\*? |const |let )(\w+)/
const LASTING = /^(?:create|open|start|limit|make|statementBy)/
const COLLECTION = /^( {0,2})(?:export )?(?:const|let) (\w+)\b.*(?:\bnew (?:Weak)?(?:Map|Set)\b(?:<.*>)?\(\)|= \[\]$)/

function collectionsIn({ path, text }: Source): { file: string; name: string }[] {
  const found: { file: string; name: string }[] = []
  let top = ''
  for (const line of text.bare.split('\n')) {
    top = TOP.exec(line)?.[1] ?? top
    const [, indent, name = ''] = COLLECTION.exec(line) ?? []
    // An array in capitals is a constant, and a function makes a new one each time.
    if (indent === undefined || /=>/.test(line) || (/^[A-Z_]+$/.test(name) && line.endsWith('[]'))) continue
    if (indent === '' || LASTING.test(top)) found.push({ file: path.slice(SERVER.length), name })
  }
  return found
}
