import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RecordList, writeListed } from '#actors/repository/listed-records.ts';
import { type ActorKind, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { readRecord, writeRecord } from '#runtime/commit/record-store.ts';
import { HostFixture } from '#test/support/host-fixture.ts';

const list: RecordList = { table: FIRST_OWN_TABLE, noun: 'things', mebibytesMax: 1 };
const MEBIBYTE = 1024 * 1024;

interface Store {
  readonly name: string;
  readonly text: string;
  /** Stores so many records without a limit, as earlier versions did. */
  readonly without?: number;
}

const kind: ActorKind = {
  kind: 'lists',
  tables: ['things'],
  create: () => ({
    execute({ name, text, without }: Store, turn) {
      if (without === undefined) return writeListed(turn, list, text, name);
      for (let n = 0; n < without; n += 1) writeRecord(turn, list.table, text, `${name}${n}`);
    },
    query: ({ name }: { readonly name: string }, { view }) => readRecord<string>(view, list.table, name),
  }),
};

let fixture: HostFixture;
beforeAll(async () => {
  fixture = await HostFixture.open([kind]);
});
afterAll(() => fixture.close());

async function listOf(actor: string): Promise<(command: Store) => Promise<unknown>> {
  await fixture.host.create(actor);
  return (command) => fixture.command(actor, command as never);
}

it('a list that is longer than its limit takes no longer records, but shorter ones', async () => {
  const store = await listOf('default/a/lists');
  await store({ name: 'n', text: 'x'.repeat(MEBIBYTE / 4), without: 5 });
  const full = { code: 'VALIDATION_FAILED', message: expect.stringMatching(/^The things .* at most 1 MiB/) };
  await expect(store({ name: 'n0', text: 'x'.repeat(MEBIBYTE / 4 + 1) })).rejects.toMatchObject(full);
  await expect(store({ name: 'new', text: '' })).rejects.toMatchObject(full);
  await store({ name: 'n0', text: 'y'.repeat(MEBIBYTE / 4) });
  await store({ name: 'n1', text: 'short' });
  expect(await fixture.query('default/a/lists', { name: 'n1' } as never)).toBe('short');
});

it('a list with too many records takes no new one, but longer ones', async () => {
  const store = await listOf('default/b/lists');
  await store({ name: 'n', text: 'x', without: 10_000 });
  await expect(store({ name: 'new', text: '' })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    message: 'A repository has at most 10000 things',
  });
  await store({ name: 'n0', text: 'longer' });
  await store({ name: 'm', text: 'x', without: 1 });
  await store({ name: 'n0', text: 'still longer' });
});
