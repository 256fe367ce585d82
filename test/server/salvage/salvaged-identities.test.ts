import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { identitiesActor } from '#actors/identities/identities-actor.ts';
import { IdentitiesTable } from '#actors/identities/identities-tables.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { MadeActors } from '#runtime/actor/catalogue/made-actors.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { checkActor } from '#server/check/check-actor.ts';
import { NewShards } from '#server/salvage/new-shards.ts';
import { SalvagedActors } from '#server/salvage/salvage-actors.ts';
import { MissingList } from '#server/salvage/salvage-report.ts';
import { IdentitiesFixture } from '#test/support/identities-fixture.ts';

const actor = 'acme/identities';
const tableNames = [...commonTableNames, ...identitiesActor.tables];

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'salvaged-identities-'));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

/** The rows of a tenant in which somebody is logged in. */
async function storedRows(): Promise<readonly Write[]> {
  const real = await IdentitiesFixture.open();
  await real.register('ann@example.org');
  const rows = await real.reading((file) =>
    tableNames.flatMap((_, table) =>
      [...file.rows(table)].map(({ key, value }) => ({ table, key, value: Buffer.from(value) })),
    ),
  );
  await real.close();
  return rows;
}

function findingsOf(reader: LmdbShard): readonly string[] {
  const findings: string[] = [];
  const work = checkActor(actor, reader, tableNames, (table) => void findings.push(table));
  while (work.next().done !== true);
  return findings;
}

it('identities are salvaged with what leads to them, and nobody is logged in', async () => {
  const rows = await storedRows();
  const from = new ActorStore(join(root, 'from'), [identitiesActor], systemClock);
  const damaged = new LmdbShard(from.folders.of(actor), from.tablesOf(actor));
  const left = rows.filter(({ table }) => table !== IdentitiesTable.emails);
  await damaged.apply(left, { sequence: 1, clock: revisionZero }).flushed;
  expect(findingsOf(damaged)).toEqual(['emails']);
  await damaged.close();

  const shards = new NewShards(new ActorStore(join(root, 'into'), [identitiesActor], systemClock));
  const survey = {
    store: from,
    actors: [actor],
    listed: new Map(),
    keyCheck: undefined,
    previousKeyCheck: undefined,
    journal: {
      segments: 1,
      records: 0,
      firstSequence: 1,
      lastSequence: 1,
      findings: [],
      lost: [],
      refused: new Map(),
      holes: [],
      async *read() {},
    },
    dependent: new Map(),
    made: new MadeActors({ reached: () => undefined, lost: [] }).all,
    writes: 0,
  };
  const { signal } = new AbortController();
  const environment = { dataDir: join(root, 'from'), clock: systemClock, signal, onProgress: () => {} };
  await new SalvagedActors(environment, survey, shards, new MissingList()).run();
  const salvaged = await shards.reading(actor);
  expect(findingsOf(salvaged)).toEqual([]);
  const count = (table: number): number => [...salvaged.range(table, { start: '\0', end: '\u00ff' })].length;
  expect([IdentitiesTable.identities, IdentitiesTable.emails, IdentitiesTable.sessions].map(count)).toEqual([
    1, 1, 0,
  ]);
  await shards.close();
});
