import { CAPTURE_SHAPES } from './capture-shapes.js'
import { PLAN_SHAPES } from './plan-shapes.js'
import { REPLY_SHAPES } from './reply-shapes.js'
import { REQUEST_SHAPES } from './request-shapes.js'
import type { Shape } from './shape.js'
import { VALUE_SHAPES } from './value-shapes.js'

/** What the machine does by itself is seen here. */
const NOTHING: Shape = { name: 'nobody: nothing is sent', lingerSeconds: 8, build: () => async () => {} }

/** Every way to attack, in the order in which they are tried. */
export const SHAPES: readonly Shape[] = [
  NOTHING,
  ...PLAN_SHAPES,
  ...VALUE_SHAPES,
  ...CAPTURE_SHAPES,
  ...REQUEST_SHAPES,
  ...REPLY_SHAPES,
]

export function shapeOf(name: string): Shape {
  const shape = SHAPES.find((other) => other.name === name)
  if (shape === undefined) throw new Error(`there is no shape ${name}`)
  return shape
}
