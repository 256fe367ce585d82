import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

/** Characters of a code that makes its node large. */
const LARGE = 1_000_000;

/** Bytes that may be hashed in one go. */
const ONE_GO_MAX = 300_000;

describe('a large property that is indexed and unique', () => {
  let family: BranchFamily;
  let longest = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
    await family.command('main', {
      type: 'PutDefinition',
      kind: 'node_type',
      definition: {
        name: 'test:Coded',
        properties: [{ name: 'code', type: 'String', unique: true, index: ['Property'] }],
      },
    });
  });
  afterAll(() => family.close());
  afterEach(() => vi.restoreAllMocks());

  /** Notes the longest piece that is hashed in one go. */
  function watch(): void {
    longest = 0;
    const prototype = Object.getPrototypeOf(createHash('sha256')) as {
      update(data: string | Uint8Array, encoding?: string): unknown;
    };
    const { update } = prototype;
    vi.spyOn(prototype, 'update').mockImplementation(function (this: unknown, data, encoding) {
      longest = Math.max(longest, data.length);
      return update.call(this, data, encoding);
    });
  }

  function code(word: string): string {
    return word.padEnd(LARGE, `${word}\0`);
  }

  const create = (name: string, properties: object): Promise<{ revision: string }> =>
    family.command('main', {
      type: 'CreateNode',
      workspace: WORKSPACE,
      parentPath: '/',
      node: { name, nodeType: 'test:Coded', properties },
    } as never);
  const change = (type: string, path: string, more: object = {}): Promise<{ revision: string }> =>
    family.command('main', { type, workspace: WORKSPACE, place: { path }, ...more } as never);

  it('is hashed in pieces by every kind of write, and remains the one with its value', async () => {
    watch();
    const first = await create('one', { code: code('one') });
    await expect(create('other', { code: code('one') })).rejects.toThrow(/must be unique/);
    await change('UpdateNode', '/one', { properties: { code: code('two') } });
    await change('SetProperty', '/one', { property: ['code'], value: code('three') });
    await change('RenameNode', '/one', { newName: 'renamed' });
    await create('next', { code: 'short' });
    await change('ReorderNode', '/renamed', { targetPath: '/next', position: 'after' });
    await change('MoveHead', '/', { revision: first.revision });
    await change('DeleteNode', '/one');
    await create('other', { code: code('one') });
    expect(longest).toBeGreaterThan(0);
    expect(longest).toBeLessThan(ONE_GO_MAX);
    expect(await family.damage('main')).toEqual([]);
  });
});
