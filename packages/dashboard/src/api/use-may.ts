import { roleIncludes } from '@countersign/protocol'
import { useQuery } from '@tanstack/react-query'
import { type Callable, roleFor } from './api.js'
import { reading } from './use-api.js'

/** Whether the person who is signed in may call a route. Asks for nothing: the frame of the pages keeps `me` up to date. */
export function useMay(): (name: Callable) => boolean {
  const { data } = useQuery({ ...reading('me', {}), staleTime: Number.POSITIVE_INFINITY })
  return (name) => data !== undefined && roleIncludes(data.user.role, roleFor(name))
}
