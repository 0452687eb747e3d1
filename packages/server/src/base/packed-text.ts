import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** A text that waits until it is needed: outside of the heap, and mostly a tenth as large. */
export type PackedText = Buffer

export const packText = (text: string): PackedText => deflateRawSync(text, { level: 1 })

export const unpackText = (packed: PackedText): string => inflateRawSync(packed).toString()
