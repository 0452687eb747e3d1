// node scripts/build-packages.mjs [PACKAGE...]: compiles the packages, then makes of each what programs import: one file
// for each entry, since opening hundreds of files took most of the time of an import
// (docs/decisions/0031-what-the-sdk-costs.md), and types for CommonJS.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
/** What a package starts beside its entries: threads. */
const THREADS = { server: ['./dist/bundle/jobs-thread.js', './dist/bundle/request-thread.js'] }
/** Has its dependencies inside, since a program that imports them opens a hundred files more: each thread of the server does. */
const ENGINE_INSIDE = ['json-p3', 're2js', 'yaml']

const { status } = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-b', ...process.argv.slice(2)], {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
})
if (status !== 0) process.exit(status ?? 1)
for (const name of ['protocol', 'engine', 'sdk', 'gateway', 'server']) await bundle(name)
for (const name of ['protocol', 'engine', 'sdk']) copyTypesForCommonJs(join(root, 'packages', name, 'dist'))

/**
 * The entries are those of the package's `exports`: dist/bundle/NAME.js is made of dist/NAME.js. The SDK has its
 * dependencies inside, and the engine all but the protocol; what the others depend on, npm installs beside them.
 */
async function bundle(name) {
  const folder = join(root, 'packages', name)
  const { exports, dependencies, peerDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const made = Object.values(exports).flatMap((entry) => entry.default ?? [])
  const outside = Object.keys({ ...(name !== 'sdk' && dependencies), ...peerDependencies }).filter(
    (other) => name !== 'engine' || !ENGINE_INSIDE.includes(other),
  )
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [...made, ...(THREADS[name] ?? [])].map((path) => join(folder, path.replace('/bundle/', '/'))),
    outbase: join(folder, 'dist'),
    outdir: join(folder, 'dist', 'bundle'),
    bundle: true,
    splitting: true,
    format: 'esm',
    // Neutral, so that no dependency brings its variant for CommonJS: `require` does not exist in a module.
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'node20.19',
    external: ['node:*', ...outside.flatMap((other) => [other, `${other}/*`])],
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'error',
  })
  const licenses = licensesOf(Object.keys(metafile.inputs))
  fill(join(folder, 'dist', 'bundle'), [
    ...outputFiles.map(({ path, text }) => [relative(join(folder, 'dist', 'bundle'), path), text]),
    ...(licenses === '' ? [] : [['LICENSES.txt', licenses]]),
  ])
}

/** The licences of everything that the bundle contains, which they ask to travel with it. */
function licensesOf(inputs) {
  const folders = new Set(inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? []))
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry))
    if (file === undefined) throw new Error(`${name} has no licence file`)
    return `${name} ${version} (${license})\n\n${readFileSync(join(root, folder, file), 'utf8').trim()}\n`
  })
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}

/** The same declarations once more in a folder of type commonjs: older compilers refuse `require` of a module's types. */
function copyTypesForCommonJs(dist) {
  const declarations = filesIn(dist).filter((file) => file.endsWith('.d.ts') && !file.startsWith('commonjs'))
  const copies = declarations.map((file) => [file, readFileSync(join(dist, file), 'utf8')])
  fill(join(dist, 'commonjs'), [...copies, ['package.json', '{ "type": "commonjs" }\n']])
}

/** Makes a folder hold exactly these files. What is the same already is not touched: a program may be reading it. */
function fill(folder, files) {
  const wanted = new Set(files.map(([file]) => file))
  for (const file of filesIn(folder)) if (!wanted.has(file)) rmSync(join(folder, file))
  for (const [file, text] of files) {
    const path = join(folder, file)
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
    mkdirSync(dirname(path), { recursive: true })
    // In one step, so that no program reads half of it.
    writeFileSync(`${path}.${process.pid}`, text)
    renameSync(`${path}.${process.pid}`, path)
  }
}

function filesIn(folder) {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}
