import {
  type Query,
  QueryClient,
  type QueryClientConfig,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useCallback, useRef } from 'react'
import { type Answer, ApiProblem, type Callable, type CallInput, call } from './api.js'
import { pollEvery } from './polling.js'

interface Reading {
  /** Reads again while the page is visible, about this often, slower while nothing changes. */
  readonly pollMs?: number
  readonly enabled?: boolean
  /** Shows the last answer while a changed query loads. */
  readonly keepLast?: boolean
}

/** Reads one route, and keeps it fresh. */
export function useApi<N extends Callable>(
  name: N,
  input: CallInput<N>,
  { pollMs, enabled = true, keepLast = false }: Reading = {},
): UseQueryResult<Answer<N>, ApiProblem> {
  return useQuery<Answer<N>, ApiProblem>({
    ...reading(name, input),
    enabled,
    ...(pollMs === undefined
      ? {}
      : { refetchInterval: (query: Query<Answer<N>, ApiProblem>) => pollEvery(pollMs, query) }),
    ...(keepLast ? { placeholderData: (previous: Answer<N> | undefined) => previous as never } : {}),
  })
}

/** The key and function of one reading, for hooks and for the router alike. */
export const reading = <N extends Callable>(name: N, input: CallInput<N>) => ({
  queryKey: [name, input] as const,
  queryFn: ({ signal }: { signal: AbortSignal }) => call(name, input, signal),
})

/**
 * Sends one route that changes something; afterwards the named readings are stale. A second click that comes before
 * the button is seen to be busy sends nothing: a key made twice would be shown once.
 */
export function useChange<N extends Callable>(name: N, stale: readonly Callable[] = []) {
  const client = useQueryClient()
  const underWay = useRef(false)
  const change = useMutation<Answer<N>, ApiProblem, CallInput<N>>({
    mutationFn: (input) => call(name, input),
    onSuccess: () => Promise.all(stale.map((reading) => client.invalidateQueries({ queryKey: [reading] }))),
    onSettled: () => {
      underWay.current = false
    },
  })
  const { mutate, reset } = change
  return {
    ...change,
    mutate: useCallback<typeof mutate>(
      (...given) => {
        if (underWay.current) return
        underWay.current = true
        mutate(...given)
      },
      [mutate],
    ),
    reset: useCallback(() => {
      underWay.current = false
      reset()
    }, [reset]),
  }
}

/** Refusals are answers and not tried again; a silent or busy server is, twice. */
export const newQueryClient = (caches: Pick<QueryClientConfig, 'queryCache' | 'mutationCache'>): QueryClient =>
  new QueryClient({
    ...caches,
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        retry: (failures, error) =>
          failures < 2 && error instanceof ApiProblem && (error.status === 0 || error.status >= 500),
        retryDelay: (attempt) => 500 * 2 ** attempt,
      },
    },
  })
