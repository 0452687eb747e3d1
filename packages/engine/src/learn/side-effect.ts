import type { SideEffect } from '@countersign/protocol'
import { toolWords } from '../flows/argument-words.js'

const READING = new Set(
  'get list read search find fetch query lookup look show view describe count check calculate think current'.split(' '),
)
const OUTSIDE = new Set('web webpage url http website browse page internet'.split(' '))
const DESTROYING = new Set('delete remove cancel drop purge destroy revoke terminate wipe erase'.split(' '))
const PAYING = new Set('pay payment refund transfer charge purchase buy money transaction invoice'.split(' '))

/** Guesses the side effect from the tool's name. A person can correct it: it decides how strict the rules are. */
export function guessSideEffect(tool: string): SideEffect {
  const words = toolWords(tool)
  const reads = words[0] !== undefined && READING.has(words[0])
  if (reads) return words.some((word) => OUTSIDE.has(word)) ? 'egress_read' : 'read'
  if (words.some((word) => DESTROYING.has(word))) return 'destructive'
  return words.some((word) => PAYING.has(word)) ? 'financial' : 'write'
}
