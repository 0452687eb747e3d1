import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../base/errors.js'

export const errorCodeSchema = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]])

/** RFC 9457 problem details. Further members carry what the client needs to continue. */
export const problemSchema = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  code: errorCodeSchema,
  detail: z.string().optional(),
})
export type Problem = z.infer<typeof problemSchema>
