const NO_FOLDER = 'that is a file, or inside one; choose a folder with --data-folder'
const NO_ANSWER = 'no PostgreSQL server answers there; check DATABASE_URL'
const NO_HOST = 'no host has that name; check DATABASE_URL'
const NO_LOGIN = 'PostgreSQL refused this user; check the name and password in DATABASE_URL'

/** What to do about an error, by the code of the system, of the PostgreSQL client or of PostgreSQL. */
export const SYSTEM_FIXES: Readonly<Record<string, string>> = {
  EACCES: 'you may not write there; change its permissions or choose another folder with --data-folder',
  EPERM: 'you may not do that; change its permissions or choose another folder with --data-folder',
  EROFS: 'the file system is read-only; choose another folder with --data-folder',
  ENOSPC: 'the disk is full; free some space or choose another folder with --data-folder',
  EEXIST: NO_FOLDER,
  ENOTDIR: NO_FOLDER,
  ECONNREFUSED: NO_ANSWER,
  ETIMEDOUT: NO_ANSWER,
  EHOSTUNREACH: NO_ANSWER,
  ENOTFOUND: NO_HOST,
  EAI_AGAIN: NO_HOST,
  ECONNRESET: 'the connection was closed; check DATABASE_URL and that its sslmode is what PostgreSQL expects',
  '28P01': NO_LOGIN,
  '28000': NO_LOGIN,
  '3D000': 'create the database first, or check its name in DATABASE_URL',
  '42501': 'the user in DATABASE_URL may not do that; make it the owner of the database',
  '25006': 'the database is read-only, as a standby is; check that DATABASE_URL points to the primary',
  '53300': 'PostgreSQL has no connections left; raise its max_connections or lower COUNTERSIGN_POOL_SIZE',
}
