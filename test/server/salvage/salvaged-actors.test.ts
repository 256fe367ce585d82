import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import type { RepositoryEntry } from '#actors/tenant/messages.ts';
import { tenantActor } from '#actors/tenant/tenant-actor.ts';
import { TenantTable } from '#actors/tenant/tenant-tables.ts';
import { NewShards } from '#server/salvage/new-shards.ts';
import { SalvagedActors } from '#server/salvage/salvage-actors.ts';
import { salvageRegistries } from '#server/salvage/salvage-registry.ts';
import { MissingList } from '#server/salvage/salvage-report.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { CatalogueRow } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { MadeActors } from '#runtime/actor/catalogue/made-actors.ts';
import { OwnerIntentFiles } from '#runtime/actor/store/owner-intents.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { type ActorKind, CommonTable, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { listRecords } from '#runtime/commit/record-store.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { type Lifecycle, lifecycleEntry } from '#runtime/log/lifecycle-entry.ts';
import type { LogRecord, Write } from '#runtime/log/log-entry.ts';
import type { LostRecords } from '#runtime/log/ports.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

const notes: ActorKind = {
  kind: 'notes',
  tables: ['notes'],
  create: () => {
    throw new Error('nobody opens it');
  },
};
const kinds = [notes, tenantActor, repositoryActor];
const actor = actorId('acme', 'site~1', 'a', 'notes');

let root: string;
/** The damaged directory. */
let from: ActorStore;
let shards: NewShards;
let missing: MissingList;
let records: LogRecord[];
let lost: LostRecords[];
/** Actors that have lost acknowledged writes with the journal. */
let dependent: Map<string, string>;
let listed: Map<string, CatalogueRow>;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'salvaged-actors-'));
  from = new ActorStore(join(root, 'from'), kinds, systemClock);
  shards = new NewShards(new ActorStore(join(root, 'into'), kinds, systemClock));
  missing = new MissingList();
  [records, lost, dependent, listed] = [[], [], new Map(), new Map()];
});

afterEach(async () => {
  await shards.close();
  rmSync(root, { recursive: true, force: true });
});

const note = (key: string, text: string): Write => ({
  table: FIRST_OWN_TABLE,
  key,
  value: encodeJsonRow(text),
});

/** Gives an actor a file that has the log up to a record. */
async function store(sequence: number, ...writes: Write[]): Promise<void> {
  const shard = new LmdbShard(from.folders.of(actor), from.tablesOf(actor));
  await shard.apply(writes, { sequence, clock: revisionZero }).flushed;
  await shard.close();
}

/** The journal has a record of the actor. */
function log(sequence: number, ...writes: Write[]): void {
  records.push({ sequence, entries: [{ actor, writes, clock: { ms: sequence, counter: 0 } }] });
}

function logLife(sequence: number, lifecycle: Lifecycle, of = actor): void {
  records.push({ sequence, entries: [lifecycleEntry(of, lifecycle, revisionZero)] });
}

/** @returns the notes of the actor in the new directory; undefined when it is not there */
async function salvaged(): Promise<Record<string, unknown> | undefined> {
  const made = new MadeActors({
    reached: (of) => from.headOf(of)?.sequence,
    lost,
  });
  for (const record of records) made.take(record);
  const survey = {
    store: from,
    actors: await from.all(),
    listed,
    keyCheck: undefined,
    previousKeyCheck: undefined,
    journal: {
      segments: 1,
      records: records.length,
      firstSequence: 1,
      lastSequence: 9,
      findings: [],
      lost,
      refused: new Map(),
      holes: [],
      async *read() {
        yield* records;
      },
    },
    dependent,
    made: made.all,
    writes: records.length,
  };
  const { signal } = new AbortController();
  const environment = { dataDir: join(root, 'from'), clock: systemClock, signal, onProgress: () => {} };
  await new SalvagedActors(environment, survey, shards, missing).run();
  if (!shards.has(actor)) return undefined;
  const reader = await shards.reading(actor);
  const rows = [...reader.range(FIRST_OWN_TABLE, { start: '', end: '\u00ff' })];
  return Object.fromEntries(rows.map(({ key, value }) => [key, decodeJsonRow(value)]));
}

/** What is said to be missing of the actor. */
const told = (): readonly string[] => missing.all.map(({ what }) => what);

describe('what is salvaged of an actor', () => {
  it('is what its file has and what the journal has behind that, not again what is in the file', async () => {
    await store(5, note('a', 'newer'));
    log(4, note('a', 'older'));
    log(6, note('b', 'later'));
    expect([await salvaged(), told()]).toEqual([{ a: 'newer', b: 'later' }, []]);
  });

  it('ends before the first record that is lost for it: what follows builds on that', async () => {
    await store(3, note('a', '1'));
    log(4, note('b', '2'));
    lost.push({ first: 5, last: 5, actors: undefined, where: 'byte 0', what: 'it does not verify' });
    dependent.set(actor, 'record 5 is lost');
    log(6, note('c', '3'));
    expect(await salvaged()).toEqual({ a: '1', b: '2' });
    expect(told()).toEqual([
      'acknowledged writes may be lost: record 5 is lost',
      '1 later writes in the journal depend on lost ones and were left out',
    ]);
  });

  it('is what its file has where the segment is gone that an earlier opening missed records of', async () => {
    await store(3, note('a', '1'));
    log(6, note('c', '3'));
    dependent.set(actor, 'records 4 to 5 were lost');
    expect(await salvaged()).toEqual({ a: '1' });
    expect(told()).toContain('1 later writes in the journal depend on lost ones and were left out');
  });

  it('is nothing of an earlier one of its name', async () => {
    logLife(1, { kind: 'create' });
    log(2, note('a', 'of the earlier one'));
    logLife(3, { kind: 'destroy' }, 'acme/site~1');
    logLife(4, { kind: 'create' });
    log(5, note('b', 'own'));
    expect([await salvaged(), told()]).toEqual([{ b: 'own' }, []]);
  });

  /** A kept segment, and what is left behind the hole after it. */
  function logHole(): void {
    logLife(1, { kind: 'create' });
    log(2, note('a', 'of the earlier one'));
    logLife(9, { kind: 'create' }, 'acme/other~1/a/notes');
  }

  it('is what its file has where the removal of an earlier one of its name is in the journal', async () => {
    listed.set(actor, { created: 4, floor: 8 });
    logLife(1, { kind: 'create' });
    log(2, note('a', 'of the earlier one'));
    logLife(3, { kind: 'destroy' }, 'acme/site~1');
    // Later segments have left: with the record that made it and those behind.
    logLife(9, { kind: 'create' }, 'acme/other~1/a/notes');
    await store(8, note('b', 'own'));
    expect([await salvaged(), told()]).toEqual([{ b: 'own' }, []]);
  });

  it('is the content of its file when only that shows that it is later than a removal', async () => {
    logLife(3, { kind: 'destroy' }, 'acme/site~1');
    await store(8, note('b', 'own'));
    expect([await salvaged(), told()]).toEqual([{ b: 'own' }, []]);
  });

  it('is nothing of an earlier one when it was never written to and its record has left the journal', async () => {
    listed.set(actor, { created: 4, floor: 0 });
    logHole();
    await store(0);
    expect([await salvaged(), told()]).toEqual([{}, []]);
  });

  it('is nothing of an earlier one where the records of the removal and of its own creation are lost', async () => {
    listed.set(actor, { created: 4, floor: 0 });
    logLife(1, { kind: 'create' });
    log(2, note('a', 'of the earlier one'));
    lost.push({ first: 3, last: 4, actors: undefined, where: 'byte 0', what: 'it does not verify' });
    log(5, note('b', 'own'));
    expect([await salvaged(), told()]).toEqual([undefined, [expect.stringContaining('its file is missing')]]);
  });

  it('exists when it was created after the removal of an earlier one, and never written to', async () => {
    listed.set(actor, { created: 4, floor: 0 });
    logLife(1, { kind: 'create' });
    logLife(3, { kind: 'destroy' }, 'acme/site~1');
    await store(0);
    expect([await salvaged(), told()]).toEqual([{}, []]);
  });

  it('is nothing where the record of its removal has left the journal', async () => {
    listed.set('acme/other~1/a/notes', { created: 9, floor: 0 });
    logHole();
    expect([await salvaged(), told()]).toEqual([undefined, []]);
  });

  it('is nothing where its file is gone and records of it have left the journal, and that is said', async () => {
    listed.set(actor, { created: 1, floor: 8 });
    logHole();
    expect([await salvaged(), told()]).toEqual([undefined, [expect.stringContaining('its file is missing')]]);
  });

  it('is everything the journal has where records of others alone have left that', async () => {
    listed.set(actor, { created: 1, floor: 0 });
    logHole();
    expect([await salvaged(), told()]).toEqual([{ a: 'of the earlier one' }, []]);
  });

  it('is nothing of an earlier one where its file is gone, and that is said', async () => {
    listed.set(actor, { created: 4, floor: 8 });
    logHole();
    expect([await salvaged(), told()]).toEqual([undefined, [expect.stringContaining('its file is missing')]]);
  });

  it('is nothing when it was removed', async () => {
    await store(1, note('a', '1'));
    logLife(2, { kind: 'destroy' }, 'acme/site~1');
    expect([await salvaged(), told()]).toEqual([undefined, []]);
  });

  it('is nothing where its file is gone and the journal has a part of it: it would look like all', async () => {
    listed.set(actor, { created: 1, floor: 3 });
    log(4, note('b', '2'));
    expect([await salvaged(), told()]).toEqual([
      undefined,
      ['its folder is missing, and the catalogue names it'],
    ]);
  });

  it('is nothing where its file alone is gone', async () => {
    await from.folders.create(actor);
    log(4, note('b', '2'));
    const unread = expect.stringContaining('nothing of its file can be read') as string;
    expect([await salvaged(), told()]).toEqual([undefined, [unread]]);
  });

  it('is everything the journal has where that makes it', async () => {
    listed.set(actor, { created: 1, floor: 0 });
    logLife(1, { kind: 'create' });
    log(2, note('a', '1'));
    expect([await salvaged(), told()]).toEqual([{ a: '1' }, []]);
  });

  it('has no outcomes of requests: the directory continues with other revisions', async () => {
    const outcome = { table: CommonTable.idempotency, key: 'k', value: Buffer.from('1') };
    await store(1, note('a', '1'), outcome);
    log(2, { ...outcome, key: 'l' });
    await salvaged();
    const reader = await shards.reading(actor);
    expect([...reader.range(CommonTable.idempotency, { start: '', end: '\u00ff' })]).toEqual([]);
  });
});

it('a rebuilt registry lists no repository that was being created or removed', async () => {
  const into = join(root, 'into');
  for (const part of ['site~1', 'gone~2'])
    await shards.make(actorId('default', part, 'repository'), revisionZero);
  await new OwnerIntentFiles(join(into, 'unsettled')).begin('default/gone~2');
  const unread = join(into, 'unsettled', 'lost+found');
  mkdirSync(unread);
  const admin = { username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: true };
  const salvage = { into, clock: systemClock, random: systemRandom, newAdmin: async () => admin };
  await salvageRegistries(salvage, shards, missing);
  const registry = await shards.reading(actorId('default', 'tenant'));
  const names = listRecords<RepositoryEntry>(registry, TenantTable.repositories).map(
    (each) => each.repositoryId,
  );
  expect(names).toEqual(['site']);
  expect(told()).toContain('default/gone~2 was being made or removed, so it is not listed');
  expect(missing.all.filter(({ file }) => file !== undefined)).toEqual([
    { file: unread, what: expect.stringContaining('cannot be read (EISDIR') },
  ]);
});
