import type { PgbenchScript } from './postgres-server.ts';
import type { Plan } from './question.ts';
import type { Answer } from './answer.ts';
import { alternate } from './rounds.ts';
import { progress, type Stage } from './stage.ts';
import { cpu, latency, rate, ratio, whole } from './table.ts';
import { wrk } from './wrk.ts';

/** The scripts of one kind of durable write. */
export interface WriteScripts {
  readonly name: 'create' | 'update';
  /** The write alone. */
  readonly plain: PgbenchScript;
  /** The write with the additional records Grove stores. */
  readonly withHistory: PgbenchScript;
}

/** Compares one kind of durable write with PostgreSQL; both flush to disk before they answer. */
export async function measureWrites(plan: Plan, stage: Stage, scripts: WriteScripts): Promise<Answer> {
  const { server, articles, idsFile } = await stage.grove(plan.articles);
  const postgres = await stage.postgres(plan.articles);
  const target = { script: scripts.name, port: server.port, token: server.token, articles, idsFile } as const;
  const count = (): Promise<string> => postgres.value('SELECT count(*) FROM node');
  const rowsBefore = await count();
  let written = 0;
  const write = async (connections: number, seconds: number): ReturnType<typeof wrk> => {
    const load = await wrk(target, connections, seconds);
    written += load.requests;
    return load;
  };
  await write(64, 2);
  const rows: string[][] = [];
  // The largest number of connections comes first: it is the row with a target, and creates make the store grow.
  for (const connections of plan.connections.toReversed()) {
    progress(`${scripts.name}s at ${connections} connections`);
    const sql = (script: PgbenchScript) => ({
      name: script,
      pid: postgres.pid,
      run: (seconds: number) => postgres.pgbench(script, connections, seconds),
    });
    const [ours = [], plain = [], full = []] = await alternate(plan, [
      { name: 'grove', pid: server.pid, run: (seconds) => write(connections, seconds) },
      sql(scripts.plain),
      sql(scripts.withHistory),
    ]);
    rows.unshift([
      String(connections),
      rate(ours),
      latency(ours),
      rate(plain),
      ratio(ours, plain),
      rate(full),
      ratio(ours, full),
      `${cpu(ours)} / ${cpu(plain)} / ${cpu(full)}`,
    ]);
  }
  return {
    columns: [
      'connections',
      `Grove ${scripts.name}s/s`,
      'p50 / p99 ms',
      'PostgreSQL/s, row only',
      'ratio',
      'PostgreSQL/s, with history',
      'ratio',
      'server µs of processor a write: Grove / row only / with history',
    ],
    rows,
    notes: [
      `Store of ${whole(articles)} articles at the start. Grove wrote ${whole(written)} times in this table, its warm-up included; PostgreSQL's table went from ${whole(Number(rowsBefore))} to ${whole(Number(await count()))} rows.`,
    ],
  };
}
