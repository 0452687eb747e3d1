import type postgres from 'postgres'

export type Sql = postgres.Sql
export type Tx = postgres.TransactionSql
/** Either the pool or a transaction: for statements that work in both. */
export type Queryable = postgres.ISql
/** Runs statements on the connection of a transaction, or on one from the share of their tenant. */
export type Query = <T>(fn: (sql: Queryable) => Promise<T>) => Promise<T>
