import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ActorKind, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import {
  listRecords,
  readRecord,
  RecordCache,
  removeRecord,
  STAMP_KEY,
  writeRecord,
} from '#runtime/commit/record-store.ts';
import { verifyMetaRow } from '#runtime/check/check-rows.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HostFixture } from '#test/support/host-fixture.ts';

const table = FIRST_OWN_TABLE;
const actor = 'default/records';

interface Change {
  readonly name: readonly string[];
  /** Undefined removes. */
  readonly value?: unknown;
}

/** An actor that stores records as it is told and answers by cache and without. */
const recordsKind: ActorKind = {
  kind: 'records',
  tables: ['records'],
  create() {
    const cache = new RecordCache();
    return {
      execute({ changes }: { readonly changes: readonly Change[] }, turn) {
        for (const { name, value } of changes) {
          if (value === undefined) removeRecord(turn, table, ...name);
          else writeRecord(turn, table, value, ...name);
        }
      },
      query({ name }: { readonly name: readonly string[] }, { view }) {
        const records = cache.at(view);
        return {
          cached:
            name.length === 1 ? records.record(table, name[0] as string) : readRecord(view, table, ...name),
          read: readRecord(view, table, ...name),
          cachedList: records.derived('all', (reader) => listRecords(reader, table)),
          list: listRecords(view, table),
          under: name.length > 1 ? listRecords(view, table, name[0] as string) : [],
        };
      },
    };
  },
};

interface Answer {
  readonly cached: unknown;
  readonly read: unknown;
  readonly cachedList: unknown[];
  readonly list: unknown[];
  readonly under: unknown[];
}

let fixture: HostFixture;

beforeAll(async () => {
  fixture = await HostFixture.open([recordsKind]);
  await fixture.host.create(actor);
});

afterAll(() => fixture.close());

function change(...changes: Change[]): Promise<unknown> {
  return fixture.command(actor, { type: 'Change', changes } as never);
}

function ask(...name: string[]): Answer {
  return fixture.query<Answer>(actor, { type: 'Ask', name } as never);
}

describe('records', () => {
  it('are the same with and without the cache, after any changes', async () => {
    const name = fc.array(fc.constantFrom('a', 'b', 'ab', 'ä', 'a-', 'zz'), { minLength: 1, maxLength: 2 });
    const step = fc.record({ name, value: fc.option(fc.jsonValue(), { nil: undefined }) });
    const model = new Map<string, unknown>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), name, async (steps, asked) => {
        await change(...(steps as Change[]));
        for (const { name: each, value } of steps) {
          const key = JSON.stringify(each);
          if (value === undefined) model.delete(key);
          else model.set(key, JSON.parse(JSON.stringify(value)));
        }
        const answer = ask(...asked);
        expect(answer.read).toEqual(model.get(JSON.stringify(asked)));
        expect(answer.cached).toEqual(answer.read);
        expect(answer.list).toHaveLength(model.size);
        expect(answer.cachedList).toEqual(answer.list);
        expect(ask(...asked).cachedList).toBe(answer.cachedList);
      }),
      { numRuns: 60 },
    );
  });

  it('are listed in byte order of their names, and below the beginning of a name', async () => {
    const names = [
      ['list', 'b'],
      ['list', 'a'],
      ['list', 'ä'],
      ['list', 'a-b'],
      ['lis', 'x'],
      ['list2', 'x'],
    ];
    await change(...names.map((name) => ({ name, value: name.join('/') })));
    expect(ask('list', 'a').under).toEqual(['list/a', 'list/a-b', 'list/b', 'list/ä']);
  });

  it('have no names longer than a key, but longer ones can be queried', () => {
    expect(ask('x'.repeat(20_000))).toMatchObject({ cached: undefined, read: undefined });
  });
});

describe('the stamp of a state of records', () => {
  const stamp = encodeJsonRow('1700000000000-0');

  /** Readers of one row, the stamp, each with a state of its own. */
  function reader(value: Uint8Array, generation: number): TableReader {
    return { generation, get: () => value, range: () => [] } as unknown as TableReader;
  }

  it('is not believed with any bit turned over, and is found by a check', () => {
    for (let bit = 0; bit < stamp.length * 8; bit += 1) {
      const flipped = Buffer.from(stamp);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      const damage = expect.objectContaining({ code: 'DATA_CORRUPTED' });
      expect(() => new RecordCache().at(reader(flipped, 1))).toThrow(damage);
      expect(() => verifyMetaRow({ key: STAMP_KEY, value: flipped })).toThrow(damage);
    }
    verifyMetaRow({ key: STAMP_KEY, value: stamp });
  });

  it('of an earlier version, which nothing vouches for, has nothing kept from one state to the next', () => {
    const old = Buffer.from('018bcfe56800deadbeef', 'hex');
    const cache = new RecordCache();
    let made = 0;
    const make = (): number => {
      made += 1;
      return made;
    };
    expect(cache.at(reader(old, 1)).derived('all', make)).toBe(1);
    expect(cache.at(reader(old, 2)).derived('all', make)).toBe(2);
    expect(cache.at(reader(stamp, 3)).derived('all', make)).toBe(3);
    expect(cache.at(reader(stamp, 4)).derived('all', make)).toBe(3);
    verifyMetaRow({ key: STAMP_KEY, value: old });
  });
});
