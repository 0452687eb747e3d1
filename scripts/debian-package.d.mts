export function installDebianPackage(name: string): void
