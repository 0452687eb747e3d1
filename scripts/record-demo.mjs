// node scripts/record-demo.mjs [--data-folder FOLDER]: runs the demo on the running server and draws its
// terminal output to docs/demo.svg, the picture in the README.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const ESCAPE = String.fromCharCode(27)
const DIM = `${ESCAPE}[2m`
const WIDTH = 104
const LINE = 19
const CHARACTER = 8.43
const PADDING = 18

/** By the escape code of each style. The colours are legible on the dark background of the picture. */
const STYLES = {
  1: 'font-weight="700" fill="#ffffff"',
  2: 'fill="#8b949e"',
  31: 'fill="#ff7b72" font-weight="700"',
  32: 'fill="#7ee787"',
  33: 'fill="#e3b341"',
  34: 'fill="#79c0ff"',
  35: 'fill="#d2a8ff"',
  36: 'fill="#56d4dd"',
}

const { stdout, stderr, status } = spawnSync(process.execPath, ['scripts/demo.mjs', ...process.argv.slice(2)], {
  cwd: root,
  encoding: 'utf8',
  env: { ...process.env, FORCE_COLOR: '1' },
})
if (status !== 0) {
  console.error(stderr || stdout)
  process.exit(status ?? 1)
}
const [story] = stdout.split('Every step is in the ledger')
const lines = ['$ npm run demo', ...story.trim().split('\n')].flatMap(wrap)
const file = join(root, 'docs', 'demo.svg')
writeFileSync(file, draw(lines.map(segments)))
console.log(`${file}: ${lines.length} lines`)

/** Breaks a long line between words and indents the rest to where the text began. */
function wrap(line) {
  if (stripVTControlCharacters(line).length <= WIDTH) return [line]
  const style = line.includes(DIM) ? DIM : ''
  const words = line.split(' ')
  const rows = [[]]
  for (const word of words) {
    const row = rows.at(-1)
    const length = stripVTControlCharacters([...row, word].join(' ')).length
    if (length > WIDTH && row.length > 0) rows.push([`${' '.repeat(11)}${style}`, word])
    else row.push(word)
  }
  return rows.map((row) => row.join(' '))
}

function segments(line) {
  const parts = []
  let style = ''
  for (const piece of line.split(new RegExp(`(${ESCAPE}\\[[0-9]+m)`))) {
    const code = piece.startsWith(ESCAPE) ? piece.slice(2, -1) : undefined
    if (code !== undefined) style = STYLES[code] ?? ''
    else if (piece !== '') parts.push({ text: piece, style })
  }
  return parts
}

/** Renderers drop the plain spaces of indented lines. */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll(' ', '&#160;')
}

function draw(rows) {
  const width = Math.ceil(WIDTH * CHARACTER + 2 * PADDING)
  const height = rows.length * LINE + 2 * PADDING + 22
  const texts = rows.map((row, index) => {
    const spans = row.map(({ text, style }) => `<tspan ${style}>${escaped(text)}</tspan>`).join('')
    return `<text x="${PADDING}" y="${PADDING + 34 + index * LINE}">${spans}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="An agent serves three customers: an honest refund is allowed, one over the limit and one from an instruction hidden in a document are blocked with a remedy">
<rect width="100%" height="100%" rx="10" fill="#0d1117"/>
<circle cx="22" cy="20" r="6" fill="#ff5f57"/><circle cx="42" cy="20" r="6" fill="#febc2e"/><circle cx="62" cy="20" r="6" fill="#28c840"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#e6edf3">
${texts.join('\n')}
</g>
</svg>
`
}
