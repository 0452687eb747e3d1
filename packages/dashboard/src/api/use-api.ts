import {
  type Query,
  QueryClient,
  type QueryClientConfig,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useCallback, useEffect, useRef } from 'react'
import { type Answer, ApiProblem, type Callable, type CallInput, call } from './api.js'
import { pollEvery } from './polling.js'

interface Reading {
  /** Polls about this often while the page is visible, slower while nothing changes. */
  readonly pollMs?: number
  /** Also while the page is hidden: what its title says is read on the tab. */
  readonly inBackground?: boolean
  readonly enabled?: boolean
  /** Shows the previous reply while a changed query loads. */
  readonly keepLast?: boolean
  /** Loaded when the page opens, and again only when it is asked for. */
  readonly once?: boolean
}

/** Loads one route, and polls it if asked to. */
export function useApi<N extends Callable>(
  name: N,
  input: CallInput<N>,
  { pollMs, inBackground = false, enabled = true, keepLast = false, once = false }: Reading = {},
): UseQueryResult<Answer<N>, ApiProblem> {
  return useQuery<Answer<N>, ApiProblem>({
    ...reading(name, input),
    enabled,
    refetchIntervalInBackground: inBackground,
    ...(pollMs === undefined
      ? {}
      : { refetchInterval: (query: Query<Answer<N>, ApiProblem>) => pollEvery(pollMs, query) }),
    ...(once ? { staleTime: Number.POSITIVE_INFINITY, gcTime: 0 } : {}),
    ...(keepLast ? { placeholderData: (previous: Answer<N> | undefined) => previous as never } : {}),
  })
}

/** The query key and function of one route, for hooks and for the router. */
export const reading = <N extends Callable>(name: N, input: CallInput<N>) => ({
  queryKey: [name, input] as const,
  queryFn: ({ signal }: { signal: AbortSignal }) => call(name, input, signal),
})

/**
 * Calls one route that changes something, then reloads the named routes. A second click before the button is disabled
 * does nothing: otherwise two keys would be created and only one shown.
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

/** Reloads the named routes when something that was under way is over. */
export function useWhenOver(isUnderWay: boolean, stale: readonly Callable[]): void {
  const client = useQueryClient()
  const wasUnderWay = useRef(false)
  useEffect(() => {
    if (wasUnderWay.current && !isUnderWay)
      for (const reading of stale) void client.invalidateQueries({ queryKey: [reading] })
    wasUnderWay.current = isUnderWay
  })
}

/**
 * Forgets what was read by the person who was signed in. How one signs in is the same for everybody, and a form may stand there
 * because of it.
 */
export const forgetPerson = (client: QueryClient): void =>
  client.removeQueries({ predicate: ({ queryKey: [name] }) => name !== ('listWaysIn' satisfies Callable) })

/** Error replies are not retried; a server that is unreachable or fails is, twice. */
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
