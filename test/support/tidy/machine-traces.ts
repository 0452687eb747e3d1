import type { Check } from './project.js'

const TRACES: readonly [RegExp, string][] = [
  [/(?<![\w.~-])\/(?:work|root|home\/[\w-]+|Users\/[\w-]+)\//, 'a path of one machine'],
  [/https?:\/\/[\w.-]*(?:registry|artifactory|verdaccio|nexus)[\w.-]*/i, 'the address of a package registry'],
  [/\bregistry\.(?:npmjs|yarnpkg|npmmirror)\.\w+/i, 'the host of a package registry'],
  [/^\s*(?:@[\w-]+:)?registry\s*=/m, 'a choice of package registry'],
  [/https?:\/\/(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.[\d.]+/, 'an address of a private network'],
]

/** Nothing in the project knows the machine it was written on. */
export const machineTraces: Check = (project) =>
  [...project.files].flatMap(([path, content]) =>
    TRACES.flatMap(([pattern, what]) => {
      const match = pattern.exec(content)
      return match === null ? [] : [`${path}:${content.slice(0, match.index).split('\n').length}: holds ${what}`]
    }),
  )
