const PATHS = {
  overview: 'M3 13h4v6H3zM10 5h4v14h-4zM17 9h4v10h-4z',
  sessions: 'M4 6h16M4 12h16M4 18h10',
  calls: 'M5 5h14v10H10l-5 4zM9 10h6',
  agents: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20c1-4 4-5.5 8-5.5s7 1.5 8 5.5',
  workflows: 'M6 5h4v4H6zM14 15h4v4h-4zM8 9v5a3 3 0 0 0 3 3h3',
  contracts: 'M7 3h7l4 4v14H7zM14 3v4h4M10 12h5M10 16h5',
  plans: 'M12 3l7 3v6c0 4.5-3 7.5-7 9-4-1.5-7-4.5-7-9V6zM9 12l2 2 4-4',
  playground: 'M8 5l11 7-11 7z',
  members:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 19c.8-3.4 3.2-5 6.5-5s5.7 1.6 6.5 5M15.5 4.4a3.5 3.5 0 0 1 0 6.2M17.5 14.4c2.1.6 3.4 2.1 4 4.6',
  keys: 'M8 15a4 4 0 1 1 3.5-6H21v4h-3v3h-4v-3h-2.5A4 4 0 0 1 8 15zM8 11h.01',
  audit: 'M12 8v5l3 2M12 21a9 9 0 1 0-9-9M3 5v7h7',
  limits: 'M4 18a8 8 0 1 1 16 0M12 18l4-6',
  questions: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.6 9.4a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.2.9-1.2 1.8M12 16.8h.01',
  webhooks: 'M4 12h9M10 8l4 4-4 4M14 5h5v14h-5',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h10v11H9zM5 15V4h10',
  check: 'M5 12.5l4.5 4.5L19 7',
  cross: 'M7 7l10 10M17 7L7 17',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5L19 19M5 19l1.5-1.5M17.5 6.5L19 5',
  moon: 'M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5z',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  stop: 'M8 3h8l5 5v8l-5 5H8l-5-5V8zM12 8v5M12 16h.01',
  alert: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  arrow: 'M5 12h14M13 6l6 6-6 6',
  out: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5',
  refresh: 'M20 6v5h-5M4 18v-5h5M19 11a7 7 0 0 0-12-4L4 10M5 13a7 7 0 0 0 12 4l3-3',
  tag: 'M4 4h8l8 8-8 8-8-8zM8 8h.01',
} as const
export type IconName = keyof typeof PATHS

/** Decorative: the text next to it says what it means. */
export const Icon = ({ name, size = 18 }: { name: IconName; size?: number }) => (
  <svg
    className="icon"
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.75"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    focusable="false"
  >
    <path d={PATHS[name]} />
  </svg>
)

/** The mark: a signature, and the one beside it that makes it count. */
export const Mark = ({ size = 26 }: { size?: number }) => (
  <svg className="mark" width={size} height={size} viewBox="0 0 32 32" fill="none" aria-hidden="true" focusable="false">
    <rect className="mark-ground" width="32" height="32" rx="8" />
    <path className="mark-first" d="M7 17.5l4.5 4.5L19 12" />
    <path className="mark-second" d="M15.5 20l2 2L25 12" />
  </svg>
)
