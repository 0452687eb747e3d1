import { z } from 'zod'

/** Where the values of a call's arguments were seen before: descriptors without content. */
export const flowsSchema = z.array(z.json())
