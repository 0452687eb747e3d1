import type { Tx } from '../postgres/sql.js'

/** Takes a job for this transaction. False when it ran less than `everySeconds` ago or another instance has it. */
export async function claimJob(tx: Tx, job: { name: string; everySeconds: number }): Promise<boolean> {
  await tx`insert into jobs (name) values (${job.name}) on conflict do nothing`
  const rows = await tx`
    update jobs set last_run_at = clock_timestamp()
    where name = (
      select name from jobs
      where name = ${job.name} and last_run_at <= clock_timestamp() - make_interval(secs => ${job.everySeconds})
      for update skip locked
    )
    returning 1`
  return rows.length === 1
}

/** The next instance goes on with it, without waiting for its time. */
export async function leaveJobDue(tx: Tx, job: { name: string }): Promise<void> {
  await tx`update jobs set last_run_at = '-infinity' where name = ${job.name}`
}

/** A piece failed: the job waits for its time like one that is done, also where its row went with the transaction. */
export async function putOffJob(tx: Tx, job: { name: string }): Promise<void> {
  await tx`
    insert into jobs (name, last_run_at) values (${job.name}, clock_timestamp())
    on conflict (name) do update set last_run_at = excluded.last_run_at`
}
