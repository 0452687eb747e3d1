import type { TimelineItem } from '@countersign/protocol'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useEffect, useState } from 'react'
import { type Answer, type ApiProblem, call } from '../../api/api.js'

const PAGE = 100
/** At this limit, new pages replace those at the other end, because a new event makes all of them stale. */
const MOST_PAGES = 5

export interface TimelineReading {
  readonly items: readonly TimelineItem[]
  /** The newest known event. */
  readonly head: number | undefined
  readonly problem: ApiProblem | null
  readonly hasEarlier: boolean
  readonly hasLater: boolean
  readonly busy: boolean
  readonly loadEarlier: () => void
  readonly loadLater: () => void
  /** Starts again a little before an event. */
  readonly goTo: (seq: number) => void
  readonly retry: () => void
}

/**
 * The events of a session, page by page, from the beginning or from just before the call in the URL.
 * A receipt changes what an earlier event shows, so a new head of the ledger makes the loaded pages stale.
 */
export function useTimeline(sessionId: string, head: number | undefined): TimelineReading {
  const [{ start, visit }, setPlace] = useState(() => ({ start: startFor(location.hash), visit: 0 }))
  const goTo = useCallback(
    (seq: number) => setPlace((place) => ({ start: startBefore(seq), visit: place.visit + 1 })),
    [],
  )
  const pages = useInfiniteQuery<
    Answer<'loadTimeline'>,
    ApiProblem,
    { pages: Answer<'loadTimeline'>[]; pageParams: number[] },
    readonly unknown[],
    number
  >({
    queryKey: ['loadTimeline', sessionId, start, visit],
    queryFn: ({ pageParam, signal }) =>
      call('loadTimeline', { params: { session_id: sessionId }, query: { after: pageParam, limit: PAGE } }, signal),
    initialPageParam: start,
    maxPages: MOST_PAGES,
    getNextPageParam: (page) => page.next,
    getPreviousPageParam: (_, __, first) => (first === 0 ? null : Math.max(0, first - PAGE)),
  })
  const { data, refetch, isFetching } = pages
  const items = uniqueBySeq(data?.pages.flatMap((page) => page.items) ?? [])
  const seen = data?.pages.at(-1)?.head.seq
  const stale = head !== undefined && seen !== undefined && head > seen
  useEffect(() => {
    if (stale && !isFetching) void refetch()
  }, [stale, isFetching, refetch])
  useEffect(() => {
    if (seen !== undefined && start >= seen) goTo(seen)
  }, [seen, start, goTo])
  return {
    items,
    head: seen,
    problem: pages.error,
    hasEarlier: pages.hasPreviousPage,
    hasLater: pages.hasNextPage,
    busy: pages.isFetchingNextPage || pages.isFetchingPreviousPage,
    loadEarlier: () => void pages.fetchPreviousPage(),
    loadLater: () => void pages.fetchNextPage(),
    goTo,
    retry: () => void refetch(),
  }
}

/** `#call-842-0` and `#event-842` start a little before event 842 when it is beyond the first page. */
export function startFor(hash: string): number {
  const seq = Number(/^#(?:call|event)-(\d+)/.exec(hash)?.[1] ?? 0)
  return startBefore(seq)
}

const startBefore = (seq: number): number => (seq <= PAGE ? 0 : seq - 10)

/** An earlier page may overlap the first one loaded. */
function uniqueBySeq(items: readonly TimelineItem[]): TimelineItem[] {
  return [...new Map(items.map((item) => [item.seq, item])).values()].sort((a, b) => a.seq - b.seq)
}
