import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkAgainstJournal } from '#server/check/check-journal.ts';
import type { CatalogueRow } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { JournalSurvey } from '#runtime/embedded/recovery/journal-survey.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { MadeActors } from '#runtime/actor/catalogue/made-actors.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { type ActorKind, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { lifecycleEntry } from '#runtime/log/lifecycle-entry.ts';
import type { LogEntry, LogRecord, Write } from '#runtime/log/log-entry.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

const notes: ActorKind = {
  kind: 'notes',
  tables: ['notes'],
  create: () => {
    throw new Error('nobody opens it');
  },
};
const actor = actorId('acme', 'site~1', 'a', 'notes');

let root: string;
let store: ActorStore;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'check-journal-'));
  store = new ActorStore(root, [notes], systemClock);
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const note = (key: string): Write => ({ table: FIRST_OWN_TABLE, key, value: encodeJsonRow(key) });
const wrote = (...writes: Write[]): LogEntry => ({ actor, writes, clock: revisionZero });
const created = lifecycleEntry(actor, { kind: 'create' }, revisionZero);
const removed = lifecycleEntry('acme/site~1', { kind: 'destroy' }, revisionZero);

/** What differs from the journal in an actor whose shard has these notes and reaches record 8. */
async function found(
  records: readonly LogRecord[],
  row: CatalogueRow,
  writes: readonly Write[],
  holes: JournalSurvey['holes'] = [],
): Promise<readonly string[]> {
  const shard = new LmdbShard(store.folders.of(actor), store.tablesOf(actor));
  await shard.apply([...writes], { sequence: 8, clock: revisionZero }).flushed;
  await shard.close();
  const made = new MadeActors({ reached: () => 8, lost: [] });
  for (const record of records) made.take(record);
  const journal = {
    segments: 1,
    records: records.length,
    firstSequence: 1,
    lastSequence: 9,
    findings: [],
    lost: [],
    refused: new Map<string, string>(),
    holes,
    async *read() {
      yield* records;
    },
  };
  const damage = await checkAgainstJournal({
    store,
    journal,
    writes: records.length,
    made: made.all,
    listed: new Map([[actor, row]]),
    positions: new Map([[actor, 8]]),
    signal: new AbortController().signal,
  });
  return damage.map(({ what }) => what);
}

it('a shard has every write that the journal has of its actor', async () => {
  const records = [
    { sequence: 1, entries: [created] },
    { sequence: 2, entries: [wrote(note('a'))] },
    { sequence: 3, entries: [wrote(note('b'))] },
  ];
  const row = { created: 1, floor: 0 };
  expect(await found(records, row, [note('a')])).toEqual([
    expect.stringContaining("'b' is not what the journal says"),
  ]);
});

it.each([
  ['is in it', [{ sequence: 3, entries: [removed] }]],
  ['has left it', []],
])(
  'a shard need not have what the journal has of an earlier actor of its name, whose removal %s',
  async (_, removal) => {
    const records = [
      { sequence: 1, entries: [created] },
      { sequence: 2, entries: [wrote(note('of the first'))] },
      ...removal,
      // Later segments have left, with the record that created the present one.
      { sequence: 9, entries: [] },
    ];
    expect(await found(records, { created: 4, floor: 8 }, [note('own')])).toEqual([]);
  },
);

it('a shard that is past a hole of the journal need not have what the journal has before that', async () => {
  const records = [
    { sequence: 1, entries: [created] },
    { sequence: 2, entries: [wrote(note('a'))] },
    { sequence: 9, entries: [] },
  ];
  const row = { created: 1, floor: 0 };
  // Records of the hole may have removed the note.
  expect(await found(records, row, [], [{ first: 4, last: 8 }])).toEqual([]);
});

it('a shard that ends before a hole of the journal has every write before that', async () => {
  const records = [
    { sequence: 1, entries: [created] },
    { sequence: 2, entries: [wrote(note('a'))] },
    { sequence: 12, entries: [] },
  ];
  const row = { created: 1, floor: 0 };
  expect(await found(records, row, [], [{ first: 9, last: 11 }])).toEqual([
    expect.stringContaining("'a' is not what the journal says"),
  ]);
});
