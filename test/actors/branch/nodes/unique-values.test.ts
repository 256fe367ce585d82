import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CommitOperation } from '#actors/branch/messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, callerWith, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const CODED = 'test:Coded';

describe('unique values', () => {
  let branch: BranchFixture;
  let number = 0;
  /** Every test has a folder of its own, and values. */
  let top = '';
  const value = (name: string): string => `${top} ${name}`;

  beforeAll(async () => {
    const code = { name: 'code', type: 'String', unique: true };
    branch = await openBranch({
      nodeTypes: [{ name: CODED, properties: [code] }, { name: 'test:Free' }],
    });
  });
  beforeEach(async () => {
    number += 1;
    top = `/t${number}`;
    await branch.create(top);
  });
  afterAll(async () => {
    expect(await branch.inspect(findDamage)).toEqual([]);
    await branch.close();
  });

  const add = async (name: string, code: string): Promise<string> =>
    (await branch.create(`${top}/${name}`, { code: value(code) }, CODED)).id;
  const creating = (name: string, code: string, id?: string): CommitOperation => {
    const node = { name, nodeType: CODED, properties: { code: value(code) } };
    return { type: 'create', parentPath: top, node: id === undefined ? node : { ...node, id } };
  };
  const updating = (nodeId: string, code: string): CommitOperation => {
    return { type: 'update', nodeId, properties: { code: value(code) } };
  };
  const commit = (...operations: readonly CommitOperation[]) =>
    branch.command({ type: 'CommitOperations', workspace, commit: { message: 'work' }, operations });
  const codeOf = async (name: string, revision?: string): Promise<unknown> => {
    const at = revision === undefined ? undefined : parseRevision(revision);
    return (await branch.read(`${top}/${name}`, at)).properties.code;
  };
  /** A free value can be taken, a taken one cannot. */
  const expectTaken = (code: string) => expect(add('late', code)).rejects.toThrow(/'code' must be unique/);

  describe('in one commit', () => {
    it('can be traded between two nodes, and every revision shows who had them [COMMIT-010]', async () => {
      const [a, b] = [await add('a', '1'), await add('b', '2')];
      const before = await branch.inspect((reader) => readBranchHead(reader).head);
      const { revision } = await commit(updating(a, '2'), updating(b, '1'));
      expect([await codeOf('a'), await codeOf('b')]).toEqual([value('2'), value('1')]);
      const earlier = `${before.ms}-${before.counter}`;
      expect([await codeOf('a', earlier), await codeOf('b', earlier)]).toEqual([value('1'), value('2')]);
      await expectTaken('1');
      await expectTaken('2');
      await branch.command({ type: 'MoveHead', revision: earlier });
      expect([await codeOf('a'), await codeOf('b')]).toEqual([value('1'), value('2')]);
      await branch.command({ type: 'MoveHead', revision: revision as string });
      expect([await codeOf('a'), await codeOf('b')]).toEqual([value('2'), value('1')]);
      await branch.inspect((reader) => expect(findDamage(reader)).toEqual([]));
    });

    it('can go round among three nodes', async () => {
      const three = [await add('a', '1'), await add('b', '2'), await add('c', '3')] as const;
      await commit(updating(three[0], '2'), updating(three[1], '3'), updating(three[2], '1'));
      expect(await Promise.all(['a', 'b', 'c'].map((name) => codeOf(name)))).toEqual(
        ['2', '3', '1'].map(value),
      );
    });

    it('can be taken before their node gives them up, is deleted or gets another one', async () => {
      const [a, b] = [await add('a', '1'), await add('b', '2')];
      await commit(
        creating('c', '1', `${top}c`),
        creating('d', '2'),
        { type: 'delete', nodeId: a },
        updating(b, '3'),
        updating(`${top}c`, '4'),
        creating('e', '1'),
      );
      const codes = await Promise.all(['b', 'c', 'd', 'e'].map((name) => codeOf(name)));
      expect(codes).toEqual(['3', '4', '2', '1'].map(value));
      for (const code of ['1', '2', '3', '4']) await expectTaken(code);
    });

    it('stay with a node that gives its value away and takes it back', async () => {
      const [a, b] = [await add('a', '1'), await add('b', '2')];
      await commit(updating(b, '1'), updating(a, '3'), updating(b, '2'), updating(a, '1'));
      expect([await codeOf('a'), await codeOf('b')]).toEqual([value('1'), value('2')]);
      await expectTaken('1');
      await add('free', '3');
    });

    it('go along with a node that is deleted and made again under its id', async () => {
      const a = await add('a', '1');
      await commit({ type: 'delete', nodeId: a }, creating('again', '1', a));
      expect(await codeOf('again')).toBe(value('1'));
      await expectTaken('1');
      await commit({ type: 'delete', nodeId: a }, creating('a', '2', a));
      await expectTaken('2');
      await add('free', '1');
    });

    it('may be copied where the copy or its source gets another one', async () => {
      const a = await add('a', '1');
      const copy = { type: 'copy', sourcePath: `${top}/a`, targetParent: top, newName: 'copy' } as const;
      await expect(commit(copy)).rejects.toThrow(/^Operation 0 \(copy\): Property 'code' must be unique/);
      await commit(copy, updating(a, '2'), { type: 'rename', nodeId: a, newName: 'source' });
      expect([await codeOf('copy'), await codeOf('source')]).toEqual([value('1'), value('2')]);
      await expectTaken('1');
    });

    it('are refused when two nodes have one in the end, and nothing is done [COMMIT-010]', async () => {
      const [a, b] = [await add('a', '1'), await add('b', '2')];
      const before = await branch.inspect((reader) => readBranchHead(reader));
      const refused = commit(updating(a, '3'), updating(b, '3'), creating('c', '1'));
      await expect(refused).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message:
          `Operation 1 (update): Property 'code' must be unique; ` +
          `'${top}/b' and '${top}/a' have the same value`,
        field: 'operations.1.properties.code',
        details: {
          operation: 1,
          nodes: [
            { id: b, path: `${top}/b` },
            { id: a, path: `${top}/a` },
          ],
        },
      });
      expect(await branch.inspect((reader) => readBranchHead(reader))).toEqual(before);
      expect([await codeOf('a'), await codeOf('b')]).toEqual([value('1'), value('2')]);
      await add('free', '3');
      await expectTaken('1');
    });

    it('are compared again in every commit of one batch, after refused ones as well', async () => {
      const [a, b] = [await add('a', '1'), await add('b', '2')];
      const outcomes = await Promise.allSettled([
        commit(updating(a, '3'), creating('x', '2')),
        commit(updating(a, '2'), updating(b, '1')),
        commit(updating(a, '1'), updating(b, '2'), { type: 'delete', nodeId: 'nobody' }),
        commit(creating('y', '3'), creating('z', '1')),
        commit(updating(a, '3'), updating(b, '2')),
        commit(creating('z', '1')),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual([
        'rejected',
        'fulfilled',
        'rejected',
        'rejected',
        'fulfilled',
        'fulfilled',
      ]);
      const codes = await Promise.all(['a', 'b', 'z'].map((name) => codeOf(name)));
      expect(codes).toEqual(['3', '2', '1'].map(value));
      expect(await branch.isMissing(`${top}/y`)).toBe(true);
      await branch.inspect((reader) => expect(findDamage(reader)).toEqual([]));
    });
  });

  describe('refusals', () => {
    const refusal = (code: string, caller?: Parameters<BranchFixture['command']>[1]) => {
      const node = { name: 'new', nodeType: CODED, properties: { code: value(code) } };
      return branch.command({ type: 'CreateNode', workspace, parentPath: top, node, deep: false }, caller);
    };

    it('name both nodes [VAL-005]', async () => {
      await add('a', '1');
      await expect(refusal('1')).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: `Property 'code' must be unique; '${top}/new' and '${top}/a' have the same value`,
        field: 'properties.code',
      });
      expect(await branch.isMissing(`${top}/new`)).toBe(true);
    });

    it('do not name a node that is hidden from the caller [VAL-005]', async () => {
      const hidden = await add('hidden', '1');
      const caller = callerWith((_, { path }) => path !== `${top}/hidden`);
      const told = {
        message: `Property 'code' must be unique; '${top}/new' has the same value as another node`,
      };
      await expect(refusal('1', caller)).rejects.toMatchObject(told);
      const { details } = (await refusal('1', caller).catch((error: unknown) => error)) as {
        details: unknown;
      };
      expect(JSON.stringify(details)).not.toContain(hidden);
      const operations = [creating('new', '1')];
      const message = 'work';
      const command = { type: 'CommitOperations', workspace, commit: { message }, operations } as const;
      await expect(branch.command(command, caller)).rejects.toMatchObject({
        message: `Operation 0 (create): ${told.message}`,
      });
      const writeOnly = callerWith((operation, { path }) => operation !== 'read' || path === top);
      await expect(refusal('1', writeOnly)).rejects.toMatchObject({
        message: "Property 'code' must be unique; two nodes have the same value",
        details: undefined,
      });
    });

    it('of a type that makes a property unique name two nodes with one value [VAL-005]', async () => {
      for (const name of ['a', 'b']) await branch.create(`${top}/${name}`, { isbn: 'same' }, 'test:Free');
      const properties = [{ name: 'isbn', type: 'String', unique: true }];
      const definition = { name: 'test:Free', properties };
      const put = branch.command({ type: 'PutDefinition', kind: 'node_type', definition });
      await expect(put).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        message: `Property 'isbn' must be unique; '${top}/b' and '${top}/a' have the same value`,
      });
    });

    it('are foretold by a validation, except those of nodes that may not be read', async () => {
      await add('a', '1');
      const node = { name: 'n', nodeType: CODED, properties: { code: value('1') } };
      const query = { type: 'ValidateNode', workspace, node } as const;
      expect(await branch.query(query)).toEqual({
        valid: false,
        errors: [`Property 'code' must be unique; '${top}/a' has the same value`],
      });
      expect(
        await branch.query(
          query,
          callerWith(() => false),
        ),
      ).toEqual({ valid: true, errors: [] });
    });
  });
});
