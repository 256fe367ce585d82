import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

/*
 * A process with a shard one flush of which fails: `failing-flush-shard.ts <folder> once|for-good`. It tells as
 * one line of JSON what it saw. Started with `failing-flush.c` loaded.
 */
const [folder = '', how = 'once'] = process.argv.slice(2);
const trigger = process.env.FAIL_FLUSH_FILE as string;
const unhandled: string[] = [];
process.on('unhandledRejection', (error) => void unhandled.push(String(error)));

type Seen = { readonly text: string; readonly sequence: number };

function look(shard: LmdbShard): Seen {
  return { text: Buffer.from(shard.get(0, 'k') ?? []).toString(), sequence: shard.position.sequence };
}

async function apply(shard: LmdbShard, sequence: number): Promise<string> {
  const rows = Array.from({ length: 300 }, (_, row) => ({
    table: 0,
    key: `k${row}`,
    value: Buffer.from(`${sequence}`),
  }));
  const writes = [...rows, { table: 0, key: 'k', value: Buffer.from(`${sequence}`) }];
  const { committed, flushed } = shard.apply(writes, { sequence, clock: { ms: sequence, counter: 0 } });
  const settled = await Promise.allSettled([committed, flushed]);
  const codes = settled.map((outcome) =>
    outcome.status === 'fulfilled' ? 'done' : (outcome.reason as ServiceError).code,
  );
  return [...new Set(codes)].join(' ');
}

const first = new LmdbShard(folder, ['a']);
const outcomes = [await apply(first, 1)];
// A folder in the way, so that going back fails as well.
if (how === 'for-good') mkdirSync(join(folder, 'data.mdb.new'));
writeFileSync(trigger, '');
outcomes.push(await apply(first, 2), await apply(first, 3));
void first.close();
const states: (Seen | string)[] = [];
for (const sequence of [4, 5]) {
  try {
    const shard = new LmdbShard(folder, ['a']);
    states.push(look(shard));
    outcomes.push(await apply(shard, sequence));
    void shard.close();
  } catch (error) {
    states.push((error as ServiceError).code);
  }
}
await new Promise((resolve) => setTimeout(resolve, 20));
process.stdout.write(`${JSON.stringify({ outcomes, states, unhandled })}\n`);
