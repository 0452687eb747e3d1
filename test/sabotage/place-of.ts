/**
 * The file by which a sabotage comes into effect. A function of the database is replaced in each database that a test gets:
 * the one that those are copies of is made only once.
 */
export const placeOf = (file: string): string =>
  file.endsWith('.sql') ? 'test/support/postgres/sabotaged-sql.ts' : file
