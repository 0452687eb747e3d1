import { useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { Callable } from '../../api/api.js'
import { forgetPerson, useApi, useChange } from '../../api/use-api.js'
import { useMay } from '../../api/use-may.js'
import { usePolledWaiting, useWaiting } from '../../api/use-waiting.js'
import { chooseTheme, useTheme } from '../../styles/theme.js'
import { Button } from '../basic/button.js'
import { Icon, type IconName, Mark } from '../basic/icon.js'
import { Text } from '../basic/text.js'
import { RoleNote } from './role-note.js'
import { VerifyBanner } from './verify-banner.js'

const SECTIONS = [
  {
    title: 'Monitor',
    links: [
      { to: '/', icon: 'overview', label: 'Overview' },
      { to: '/questions', icon: 'questions', label: 'Questions' },
      { to: '/sessions', icon: 'sessions', label: 'Sessions' },
      { to: '/calls', icon: 'calls', label: 'Calls' },
      { to: '/agents', icon: 'agents', label: 'Agents' },
      { to: '/workflows', icon: 'workflows', label: 'Workflows' },
    ],
  },
  {
    title: 'Govern',
    links: [
      { to: '/contracts', icon: 'contracts', label: 'Contracts' },
      { to: '/plans', icon: 'plans', label: 'Plans' },
      { to: '/playground', icon: 'playground', label: 'Playground' },
    ],
  },
  {
    title: 'Organisation',
    links: [
      { to: '/members', icon: 'members', label: 'Members', shows: 'listMembers' },
      { to: '/keys', icon: 'keys', label: 'API keys', shows: 'listKeys' },
      { to: '/webhooks', icon: 'webhooks', label: 'Webhooks', shows: 'listWebhooks' },
      { to: '/audit', icon: 'audit', label: 'Audit trail', shows: 'listAudit' },
      { to: '/limits', icon: 'limits', label: 'Limits and usage' },
    ],
  },
] as const satisfies readonly { title: string; links: readonly PageLink[] }[]

interface PageLink {
  readonly to: string
  readonly icon: IconName
  readonly label: string
  /** What the page shows, where not everybody may see it. */
  readonly shows?: Callable
}

/** The layout of every signed-in page: navigation, account and content. */
export function Shell() {
  const menu = useRef<HTMLDialogElement>(null)
  const { pathname } = useLocation()
  usePolledWaiting()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of page is what closes the menu
  useEffect(() => menu.current?.close(), [pathname])
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to content
      </a>
      <aside className="sidebar">
        <Brand />
        <Navigation label="Pages" />
        <Person />
      </aside>
      <header className="topbar">
        <Brand />
        <Button kind="quiet" icon="menu" onClick={() => menu.current?.showModal()} aria-haspopup="dialog">
          Menu
          <Waiting />
        </Button>
      </header>
      <dialog ref={menu} className="drawer" aria-label="Menu">
        <div className="drawer-top">
          <Brand />
          <Button kind="quiet" icon="close" onClick={() => menu.current?.close()}>
            Close
          </Button>
        </div>
        <Navigation label="Menu pages" />
        <Person />
      </dialog>
      <main id="content" className="content" tabIndex={-1}>
        <VerifyBanner />
        <RoleNote />
        <Outlet />
      </main>
    </div>
  )
}

const Brand = () => (
  <Link to="/" className="brand" aria-label="Countersign, overview">
    <Mark />
    <span>Countersign</span>
  </Link>
)

/** The pages that the person may see. */
function Navigation({ label }: { label: string }) {
  const may = useMay()
  return (
    <nav aria-label={label} className="navigation">
      {SECTIONS.map((section) => (
        <div key={section.title}>
          <p className="navigation-title">{section.title}</p>
          <ul>
            {section.links
              .filter((link) => !('shows' in link) || may(link.shows))
              .map((link) => (
                <li key={link.to}>
                  <Link to={link.to} activeOptions={{ exact: link.to === '/', includeSearch: false }}>
                    <Icon name={link.icon} />
                    {link.label}
                    {link.to === '/questions' ? <Waiting /> : null}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

/** How many questions wait for the reader. */
function Waiting() {
  const mine = useWaiting()?.mine ?? 0
  if (mine === 0) return null
  return (
    <span className="navigation-count">
      {mine}
      <span className="visually-hidden">{mine === 1 ? ' question waits for you' : ' questions wait for you'}</span>
    </span>
  )
}

function Person() {
  const theme = useTheme()
  const navigate = useNavigate()
  const queries = useQueryClient()
  const { data } = useApi('me', {})
  const logout = useChange('logout')
  const leave = () =>
    logout.mutate(
      {},
      {
        onSuccess: async () => {
          await navigate({ to: '/sign-in', search: {} })
          forgetPerson(queries)
        },
      },
    )
  return (
    <div className="person">
      <Link to="/account" className="person-words" title="Your account">
        <strong>
          <Text value={data?.user.tenant_name ?? ''} />
        </strong>
        <Text value={data?.user.email ?? ''} />
        <span className="quiet">{data?.user.role ?? ''}</span>
      </Link>
      <div className="person-actions">
        <Button
          kind="quiet"
          icon={theme === 'dark' ? 'sun' : 'moon'}
          onClick={() => chooseTheme(theme === 'dark' ? 'light' : 'dark')}
        >
          {theme === 'dark' ? 'Light' : 'Dark'}
        </Button>
        <Button kind="quiet" icon="out" busy={logout.isPending} onClick={leave}>
          Sign out
        </Button>
      </div>
    </div>
  )
}
