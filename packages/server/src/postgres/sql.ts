import type postgres from 'postgres'

export type Sql = postgres.Sql
export type Tx = postgres.TransactionSql
/** Either the pool or a transaction: for statements that work in both. */
export type Queryable = postgres.ISql
