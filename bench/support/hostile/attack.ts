// A process of its own, as an attacker is on another machine: what it takes to build and send requests is not taken from
// the service, and the service comes first where both want a core.
// { attack: { shape, url, keys } } gets ready, { go: true } acts and answers when all is sent, { stop: true } gives up.
import { setPriority } from 'node:os'
import { openAttacker } from './attacker.js'
import { shapeOf } from './shapes.js'

export interface Attack {
  readonly shape: string
  readonly url: string
  /** One for each tenant that takes part. */
  readonly keys: readonly string[]
}

const LOWEST_PRIORITY = 19

setPriority(LOWEST_PRIORITY)

let act: () => Promise<unknown> = async () => {}
let giveUp = () => {}

process.on('message', (order: { attack?: Attack; go?: true }) => {
  if (order.attack !== undefined) {
    getReady(order.attack)
    process.send?.('ready')
  } else if (order.go) {
    void act().then(() => process.send?.('done'))
  } else {
    giveUp()
    process.exit()
  }
})

function getReady({ shape, url, keys }: Attack): void {
  const acts = keys.map((key) => ({ act: shapeOf(shape).build(), attacker: openAttacker(url, key) }))
  act = () => Promise.all(acts.map(({ act, attacker }) => act(attacker)))
  giveUp = () => {
    for (const { attacker } of acts) attacker.close()
  }
}
