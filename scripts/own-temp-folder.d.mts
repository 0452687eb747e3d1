/** Temporary folders of this process and its children lie in one folder, which is removed when it ends. */
export function useOwnTempFolder(env?: NodeJS.ProcessEnv): void
