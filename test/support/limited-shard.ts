import { ServiceError } from '#runtime/errors/service-error.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

/*
 * A process that fills a shard until an application fails, closes it and opens it again within one turn, and
 * tells as one line of JSON what it saw: `limited-shard.ts <folder>`. Whoever starts it limits the file size.
 */
const [folder = ''] = process.argv.slice(2);
const unhandled: string[] = [];
process.on('unhandledRejection', (error) => void unhandled.push(String(error)));

const value = Buffer.alloc(60_000, 1);
const shard = new LmdbShard(folder, ['a']);
let applied = 0;
let code = '';
const pinned = shard.snapshot();
while (code === '') {
  const sequence = applied + 1;
  const writes = [
    { table: 0, key: `k${sequence}`, value },
    { table: 0, key: 'newest', value: Buffer.from(`${sequence}`) },
  ];
  const outcome = shard.apply(writes, { sequence, clock: { ms: sequence, counter: 0 } });
  const settled = await Promise.allSettled([outcome.committed, outcome.flushed]);
  if (settled.every(({ status }) => status === 'fulfilled')) applied = sequence;
  else if (settled.every(({ status }) => status === 'rejected'))
    code = ((settled[0] as PromiseRejectedResult).reason as ServiceError).code;
  else throw new Error('one promise of two was kept');
}
const next = shard.apply([], { sequence: applied + 1, clock: { ms: 0, counter: 0 } });
const refused = await next.flushed.then(
  () => '',
  (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
);
void shard.close();
const again = new LmdbShard(folder, ['a']);
let pinnedAfter = '';
try {
  pinned.get(0, 'newest');
} catch (error) {
  pinnedAfter = (error as ServiceError).code;
}
const rows = [...again.range(0, { start: 'k', end: 'l' })];
const seen = {
  code,
  refused,
  applied,
  position: again.position.sequence,
  newest: Buffer.from(again.get(0, 'newest') ?? []).toString(),
  rows: rows.length,
  whole: rows.every((row) => Buffer.compare(row.value, value) === 0),
  pinnedAfter,
};
// A small one fits into what was freed or is refused like the first; either way the process goes on.
const small = again.apply([{ table: 0, key: 'newest', value: Buffer.from('small') }], again.position);
await small.flushed.catch(() => {});
await again.close();
await new Promise((resolve) => setTimeout(resolve, 20));
process.stdout.write(`${JSON.stringify({ ...seen, unhandled })}\n`);
