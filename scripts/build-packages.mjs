// node scripts/build-packages.mjs [PACKAGE...]: compiles the packages, then makes of the SDK what programs import: one
// file for each entry, with its dependencies inside, since opening 450 files took most of the time of an import
// (docs/decisions/0085-the-sdk-is-published-as-a-bundle.md), and types for CommonJS.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const sdk = join(root, 'packages', 'sdk')
const bundle = join(sdk, 'dist', 'bundle')

const { status } = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-b', ...process.argv.slice(2)], {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
})
if (status !== 0) process.exit(status ?? 1)
await bundleSdk()
for (const name of ['protocol', 'engine', 'sdk']) copyTypesForCommonJs(join(root, 'packages', name, 'dist'))

/** The entries are those of the package's `exports`: dist/bundle/NAME.js is made of dist/NAME.js. */
async function bundleSdk() {
  const { exports, peerDependencies } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
  const entryPoints = Object.values(exports).map(({ default: made }) => join(sdk, made.replace('/bundle/', '/')))
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints,
    outbase: join(sdk, 'dist'),
    outdir: bundle,
    bundle: true,
    splitting: true,
    format: 'esm',
    // Neutral, so that no dependency brings its variant for CommonJS: `require` does not exist in a module.
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'node20.19',
    external: ['node:*', ...Object.keys(peerDependencies).flatMap((name) => [name, `${name}/*`])],
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'error',
  })
  const made = outputFiles.map(({ path, text }) => [relative(bundle, path), text])
  fill(bundle, [...made, ['LICENSES.txt', licensesOf(Object.keys(metafile.inputs))]])
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
