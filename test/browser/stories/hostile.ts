import type { SessionRow, TimelineItem } from '@countersign/protocol'

/** Names as an attacker would choose them. */
export const HOSTILE = {
  agent: '<img src=x onerror=alert(1)>',
  tool: '<script>document.title="owned"</script>',
  phase: 'safe\u202etxt.exe',
  labels: ['javascript-alert-1'],
} as const

/** A recorded session under such names: some of them the service would not even take. */
export const hostileRow = (row: SessionRow, sessionId: string): SessionRow => ({
  ...row,
  session_id: sessionId,
  agent: HOSTILE.agent,
  phase: HOSTILE.phase,
  labels: [...HOSTILE.labels],
})

export const hostileTimeline = (items: readonly TimelineItem[]): TimelineItem[] =>
  items.map((item) => ({
    ...item,
    labels: [...HOSTILE.labels],
    state: { ...item.state, currentPhase: HOSTILE.phase, toolCallCounts: { [HOSTILE.tool]: 1 } },
    calls: item.calls.map((call) => ({
      ...call,
      tool_name: HOSTILE.tool,
      arguments: { note: '</pre><img src=x onerror=alert(2)>\u202e\u0007' },
    })),
  }))
