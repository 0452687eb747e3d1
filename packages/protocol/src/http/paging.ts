import { z } from 'zod'

/**
 * Lists are paged by an opaque cursor; `next` is null on the last page. A page before it may have fewer items than asked
 * for, or none, where few of the records that it looked through fit.
 */
export const pageQuery = z.strictObject({
  cursor: z.string().max(512).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
})
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.strictObject({ items: z.array(item), next: z.string().nullable() })
