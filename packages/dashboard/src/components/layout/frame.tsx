import { Outlet, useRouterState } from '@tanstack/react-router'

/** Every page, and a loading bar while the next one loads: the current page stays until then. */
export function Frame() {
  const underWay = useRouterState({ select: ({ isLoading }) => isLoading })
  return (
    <>
      {underWay ? (
        <div className="under-way" role="status">
          <span className="visually-hidden">Loading page</span>
        </div>
      ) : null}
      <Outlet />
    </>
  )
}
