import { useQuery } from '@tanstack/react-query'
import type { Answer } from './api.js'
import { reading, useApi } from './use-api.js'

const WAITING = { query: { state: 'waiting', limit: 1 } } as const

/** How many questions wait, and how many of them for the reader. Asks for nothing: the frame of the pages keeps it up to date. */
export const useWaiting = (): Answer<'listQuestions'>['counts'] | undefined =>
  useQuery({ ...reading('listQuestions', WAITING), enabled: false }).data?.counts

/** Keeps it up to date. */
export const usePolledWaiting = (): unknown => useApi('listQuestions', WAITING, { pollMs: 10_000, inBackground: true })
