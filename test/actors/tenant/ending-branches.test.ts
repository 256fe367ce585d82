import { afterAll, beforeAll, expect, it } from 'vitest';
import { isEndingKey } from '#actors/tenant/ending-branches.ts';
import { ENDING_PAGE } from '#actors/tenant/messages.ts';
import { restoredTenantRow } from '#actors/tenant/restored-rows.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';

const actor = 'default/tenant';

let fixture: HostFixture;

beforeAll(async () => {
  fixture = await HostFixture.open();
  await fixture.host.create(actor);
});
afterAll(() => fixture.close());

const list = (after?: string): readonly string[] =>
  fixture.query(
    actor,
    { type: 'ListEnding', ...(after === undefined ? {} : { after }) } as never,
    callers.engine,
  );
const tell = (type: string, branches: readonly string[], caller = callers.engine): Promise<unknown> =>
  fixture.command(actor, { type, branches } as never, caller);

it('branches about to be removed are kept until they are forgotten, and are listed in pages', async () => {
  const ids = Array.from(
    { length: ENDING_PAGE + 5 },
    (_, index) => `default/r~1/b${String(index).padStart(5, '0')}~1/branch`,
  );
  expect(list()).toEqual([]);
  await tell('NoteEnding', ids);
  await tell('NoteEnding', ids.slice(0, 2));
  expect(list()).toEqual(ids.slice(0, ENDING_PAGE));
  expect(list(ids[ENDING_PAGE - 1])).toEqual(ids.slice(ENDING_PAGE));
  await tell('ForgetEnding', ids.slice(0, ENDING_PAGE));
  expect(list()).toEqual(ids.slice(ENDING_PAGE));
});

it('only the engine keeps, forgets and lists them', async () => {
  for (const type of ['NoteEnding', 'ForgetEnding'])
    await expect(tell(type, ['x'], callers.admin)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  expect(() => fixture.query(actor, { type: 'ListEnding' } as never, callers.admin)).toThrow();
});

it('a restored tenant has none: they are branches of another server', () => {
  const restore = restoredTenantRow({ hasTenant: () => true, repository: () => undefined });
  const value = encodeJsonRow(true);
  const key = 'ending\u0000default/r~1/b~1/branch';
  expect(isEndingKey(key)).toBe(true);
  expect(restore({ table: CommonTable.meta, key, value })).toBeNull();
  expect(restore({ table: CommonTable.meta, key: 'stamp', value })).toBe(value);
});
