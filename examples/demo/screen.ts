import { styleText } from 'node:util'

interface Removed {
  readonly tool: string
  readonly reason: string
}

interface Blocked {
  readonly tool_name: string
  readonly reason: string | null
  readonly remedy: string | null
}

type Style = Parameters<typeof styleText>[0]

const inColour = process.env.NO_COLOR === undefined && (process.stdout.isTTY || process.env.FORCE_COLOR !== undefined)
const paint = (style: Style, text: string) => (inColour ? styleText(style, text, { validateStream: false }) : text)
const print = (line = '') => process.stdout.write(`${line}\n`)
const step = (style: Style, word: string, text: string) => print(`  ${paint(style, word.padEnd(9))} ${text}`)

let narrowedBefore = ''

const counted = { ran: 0, stopped: 0 }

/** What the terminal shows for each step. */
export const show = {
  beginning() {
    print('A refund desk under the contracts in examples/demo/contracts. The model is scripted; the rest is real.')
  },
  customer(number: number, title: string, name: string, asks: string) {
    narrowedBefore = ''
    print(`\n${paint('bold', `${number}. ${title}`)}`)
    step('cyan', name, asks)
  },
  /** Shown only if it differs from the previous turn. */
  narrowed(removed: readonly Removed[]) {
    const reasons = [...new Set(removed.map(({ reason }) => reason))]
    const toolsOf = (reason: string) => removed.filter((row) => row.reason === reason).map(({ tool }) => tool)
    const text = reasons.map((reason) => `${toolsOf(reason).join(', ')} (${reason})`).join(', ')
    if (text !== narrowedBefore) step('yellow', 'narrowed', paint('dim', `the model is not offered ${text}`))
    narrowedBefore = text
  },
  allowed(tool: string, args: unknown) {
    counted.ran += 1
    step('green', 'allowed', `${tool} ${paint('dim', JSON.stringify(args))}`)
  },
  blocked(calls: readonly Blocked[]) {
    for (const { tool_name, reason, remedy } of calls) {
      counted.stopped += 1
      step('red', 'blocked', `${paint('bold', tool_name)}: ${reason}`)
      step('magenta', 'remedy', remedy ?? '')
    }
  },
  receipt(stateVersion: number, result: unknown) {
    const text = JSON.stringify(result)
    step(
      'blue',
      'receipt',
      paint('dim', `step ${stateVersion} committed  ${text.length > 70 ? `${text.slice(0, 67)}…` : text}`),
    )
  },
  said(text: string) {
    step('cyan', 'agent', text)
  },
  links(pages: readonly string[]) {
    print(`\n${counted.ran} calls ran, ${counted.stopped} were stopped before they could.`)
    print(
      `${paint('bold', 'Every step is in the ledger')}, with the reason of each block and the receipt of each call:`,
    )
    for (const [index, page] of pages.entries()) print(`  ${index + 1}. ${page}`)
    print()
  },
}
