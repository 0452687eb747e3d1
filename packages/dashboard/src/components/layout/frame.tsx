import { Outlet, useRouterState } from '@tanstack/react-router'

/** Every page, and above it a sign that the next one is on its way: the page before stays until then. */
export function Frame() {
  const underWay = useRouterState({ select: ({ isLoading }) => isLoading })
  return (
    <>
      {underWay ? (
        <div className="under-way" role="status">
          <span className="visually-hidden">Loading the page</span>
        </div>
      ) : null}
      <Outlet />
    </>
  )
}
