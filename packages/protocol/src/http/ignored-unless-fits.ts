import type { z } from 'zod'

/** A field of a request that is not needed: where it does not fit, it counts as missing. */
export const ignoredUnlessFits = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined)
