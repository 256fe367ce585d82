import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ActorFolders } from '#runtime/actor/store/actor-folders.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { Replica, type ReplicaStore } from '#runtime/commit/replica.ts';
import type { LogRecord, RecordMark } from '#runtime/log/log-entry.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { Engine, engineUser as caller } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';

const tableNames = [...commonTableNames, ...noteActor.tables];

let root: string;
let engine: Engine;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'replica-'));
  engine = await Engine.open(join(root, 'owner'), { kinds: [noteActor] });
});

afterEach(async () => {
  await engine.close();
  rmSync(root, { recursive: true, force: true });
});

/** A replica over a folder of its own. */
class Follower {
  readonly folders: ActorFolders;
  readonly released = new Map<string, number>();
  /** What the disk was told of its shards. */
  readonly told: [actor: string, sequence: number, mark: RecordMark | undefined][] = [];
  replica: Replica;

  constructor(folder: string) {
    this.folders = new ActorFolders(folder, systemClock);
    this.replica = this.#make();
  }

  #make(): Replica {
    const { folders } = this;
    const store: ReplicaStore = {
      exists: (actor) => folders.exists(actor),
      open: (actor) => new LmdbShard(folders.of(actor), tableNames),
      create: (actor) => folders.create(actor),
      adopt: async (actor, _sequence, copy) => {
        await copy(await folders.prepare(actor));
        folders.adopt(actor);
      },
      remove: (owner) => folders.remove(owner),
    };
    return new Replica(store, systemClock, (actor, sequence) => void this.released.set(actor, sequence), {
      before: async () => {},
      applied: (...told) => void this.told.push(told),
    });
  }

  /** As after a crash: what was gathered is gone, what is on disk is not. */
  async restart(): Promise<void> {
    await this.replica.abandon();
    this.replica = this.#make();
  }

  /** Every row of an actor; undefined when it is not there. */
  async rows(actor: string): Promise<string[] | undefined> {
    if (!this.folders.exists(actor)) return undefined;
    const shard = new LmdbShard(this.folders.of(actor), tableNames);
    const rows = rowsOf(shard);
    await shard.close();
    return rows;
  }
}

function rowsOf(reader: TableReader): string[] {
  return tableNames.flatMap((name, table) =>
    [...reader.range(table, { start: '\u0000', end: '\u00ff' })].map(
      ({ key, value }) => `${name} ${key} ${Buffer.from(value).toString('latin1')}`,
    ),
  );
}

const names = ['a', 'b', 'c', 'd'];
const actorOf = (name: string, owner = 'site~1'): string => actorId('acme', owner, name, 'notes');

type Step =
  | { readonly kind: 'create'; readonly name: string }
  | { readonly kind: 'write'; readonly name: string; readonly keys: readonly string[] }
  | { readonly kind: 'fork'; readonly from: string; readonly to: string }
  | { readonly kind: 'destroy'; readonly name: string };

const name = fc.constantFrom(...names);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), name }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('write' as const),
        name,
        keys: fc.array(fc.constantFrom('k1', 'k2', 'k3'), { minLength: 1, maxLength: 4 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('fork' as const), from: name, to: name }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('destroy' as const), name }) },
  ),
  { maxLength: 25 },
);

/** Does what a step says, as far as it can be done; whatever can run at the same time does. */
async function perform(step: Step, round: number, running: Promise<unknown>[]): Promise<void> {
  const { host } = engine;
  switch (step.kind) {
    case 'create':
      await host.create(actorOf(step.name));
      return;
    case 'write':
      for (const key of step.keys)
        running.push(
          host
            .command(actorOf(step.name), { type: 'Write', key, text: `${round}` }, { caller })
            .catch(() => {}),
        );
      return;
    case 'fork':
      running.push(host.fork(actorOf(step.from), actorOf(step.to)).catch(() => {}));
      return;
    case 'destroy':
      await Promise.all(running.splice(0));
      await host.destroyUnder(actorId('acme', 'site~1', step.name));
  }
}

describe('a replica', () => {
  it('has what the owner has, after any number of restarts', async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(steps, fc.array(fc.nat(9), { minLength: 1, maxLength: 6 }), async (plan, pauses) => {
        round += 1;
        const records: LogRecord[] = [];
        const before = engine.journal.lastSequence;
        const running: Promise<unknown>[] = [];
        for (const [index, step] of plan.entries()) await perform(step, index, running);
        await Promise.all(running);
        for await (const { sequence, entries } of engine.journal.read(before)) {
          const kept = entries.map((entry) => ({
            ...entry,
            writes: entry.writes.map((write) => ({ ...write })),
          }));
          records.push({ sequence, entries: kept });
        }
        const follower = new Follower(join(root, `follower${round}`));
        let at = 0;
        for (const pause of [...pauses, records.length]) {
          const until = Math.min(records.length, at + pause);
          for (; at < until; at++) await follower.replica.take(records[at] as LogRecord);
          if (pause % 2 === 0) await follower.replica.settle();
          await follower.restart();
          // It begins anew with records it has seen before.
          at = Math.max(0, at - 3);
          if (pause % 2 === 1) at = 0;
        }
        for (; at < records.length; at++) await follower.replica.take(records[at] as LogRecord);
        await follower.replica.close();
        for (const each of names) {
          const actor = actorOf(each);
          const mine = engine.host.exists(actor)
            ? await (engine.host.query(actor, { type: 'ReadAll' }, caller) as Promise<Record<string, string>>)
            : undefined;
          const rows = await follower.rows(actor);
          const its = rows === undefined ? undefined : notesIn(rows);
          expect([each, its]).toEqual([each, mine]);
        }
        await engine.host.destroyUnder('acme/site~1');
      }),
      { numRuns: 40 },
    );
  }, 60_000);

  it('makes a fork of the state its source had at that place, with all that followed after it', async () => {
    const [source, target] = [actorOf('a'), actorOf('b')];
    await engine.host.create(source);
    const write = (key: string): Promise<unknown> =>
      engine.host.command(source, { type: 'Write', key, text: key }, { caller });
    await write('before');
    const forked = engine.host.fork(source, target);
    const later = Array.from({ length: 30 }, (_, index) => write(`during${index}`));
    await Promise.all([forked, ...later]);
    const follower = new Follower(join(root, 'follower'));
    for await (const record of engine.journal.read(0)) await follower.replica.take(record);
    await follower.replica.close();
    const mine = await (engine.host.query(target, { type: 'ReadAll' }, caller) as Promise<object>);
    expect(notesIn((await follower.rows(target)) as string[])).toEqual(mine);
    expect(Object.keys(notesIn((await follower.rows(source)) as string[]))).toHaveLength(31);
  });

  it('has all it was given while something was being applied', async () => {
    const actor = actorOf('a');
    await engine.host.create(actor);
    for (let n = 0; n < 40; n++)
      await engine.host.command(actor, { type: 'Write', key: `k${n}`, text: `${n}` }, { caller });
    const follower = new Follower(join(root, 'follower'));
    const applied: Promise<void>[] = [];
    for await (const record of engine.journal.read(0)) {
      await Promise.race([follower.replica.take(record), new Promise((resolve) => setImmediate(resolve))]);
      applied.push(follower.replica.settle());
    }
    await Promise.all(applied);
    await follower.replica.close();
    const mine = await (engine.host.query(actor, { type: 'ReadAll' }, caller) as Promise<object>);
    expect(notesIn((await follower.rows(actor)) as string[])).toEqual(mine);
  });

  it('tells the disk of records that it skips because the shard has them', async () => {
    const actor = actorOf('skipped', 'site~2');
    await engine.host.create(actor);
    for (const key of ['one', 'two'])
      await engine.host.command(actor, { type: 'Write', key, text: key }, { caller });
    const records: LogRecord[] = [];
    for await (const { sequence, entries } of engine.journal.read(0))
      records.push({ sequence, entries, mark: { epoch: 1, chain: Buffer.alloc(16, sequence) } });
    const follower = new Follower(join(root, 'follower'));
    for (const record of records) await follower.replica.take(record);
    await follower.replica.settle();
    const { mark, sequence } = records.at(-1) as LogRecord;
    expect(follower.told).toEqual([[actor, sequence, mark]]);
    // As if it had ended before anybody heard of that.
    await follower.restart();
    follower.told.length = 0;
    for (const record of records) await follower.replica.take(record);
    await follower.replica.close();
    // The first one made it.
    expect(follower.told).toEqual(records.slice(1).map((record) => [actor, record.sequence, record.mark]));
  });

  it('leaves nothing of a removed actor, and reports that it no longer needs its records', async () => {
    const actor = actorOf('a');
    await engine.host.create(actor);
    await engine.host.command(actor, { type: 'Write', key: 'k', text: '1' }, { caller });
    await engine.host.destroyUnder('acme/site~1');
    const follower = new Follower(join(root, 'follower'));
    for await (const record of engine.journal.read(0)) await follower.replica.take(record);
    await follower.replica.close();
    expect(existsSync(follower.folders.of('acme/site~1'))).toBe(false);
    expect(follower.released.get('acme/site~1')).toBe(engine.journal.lastSequence);
  });

  it('pauses with everything it has taken in its shards, and with nothing that arrives meanwhile', async () => {
    const actor = actorOf('still', 'site~2');
    await engine.host.create(actor);
    for (const key of ['one', 'two'])
      await engine.host.command(actor, { type: 'Write', key, text: key }, { caller });
    const records: LogRecord[] = [];
    for await (const record of engine.journal.read(0))
      records.push({ ...record, entries: record.entries.filter((entry) => entry.actor === actor) });
    const mine = records.filter(({ entries }) => entries.length > 0);
    const last = mine.at(-1) as LogRecord;
    const follower = new Follower(join(root, 'still'));
    for (const record of mine.slice(0, -1)) await follower.replica.take(record);
    const copy = join(root, 'copy');
    let taking: Promise<void> | undefined;
    const reached = await follower.replica.still(async (shards) => {
      taking = follower.replica.take(last);
      await shards.copy(actor, copy, new AbortController().signal);
      expect(shards.sequenceOf(actorOf('none', 'site~2'))).toBeUndefined();
      return shards.sequenceOf(actor);
    });
    expect(reached).toBe(mine.at(-2)?.sequence);
    const copied = new LmdbShard(copy, tableNames);
    expect([copied.position.sequence, rowsOf(copied).filter((row) => row.includes('two'))]).toEqual([
      reached,
      [],
    ]);
    await copied.close();
    await taking;
    expect(await follower.replica.still(async (shards) => shards.sequenceOf(actor))).toBe(last.sequence);
    await follower.replica.abandon();
  });
});

function notesIn(rows: readonly string[]): Record<string, string> {
  const own = noteActor.tables[0] as string;
  const notes = rows.filter((row) => row.startsWith(`${own} `)).map((row) => row.split(' '));
  return Object.fromEntries(notes.map(([, key = '', text = '']) => [key, text]));
}
