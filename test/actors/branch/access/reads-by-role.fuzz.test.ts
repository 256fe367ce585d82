import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchQuery } from '#actors/branch/messages.ts';
import type { Policy, ReadableNode } from '#runtime/access/policy.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import {
  type BranchFixture,
  type NodeObject,
  openBranch,
  WORKSPACE as workspace,
} from '#test/support/branch-fixture.ts';
import { readableNode } from '#test/support/readable-node.ts';
import { adminOf } from '#test/support/host-fixture.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { policyOf } from '#test/runtime/access/roles/access-fixture.ts';
import { decidePlainly, type PlainWorld } from '#test/runtime/access/roles/plain-policy.ts';

const types = ['t:A', 't:B'];
const conditions = ['own', 'draft', 'in a or b', 'always', 'never'];
const names = ['title', 'secret', 'status'];

const definitions: readonly JsonObject[] = types.map((name) => ({
  name,
  properties: [
    { name: 'title', type: 'String', is_translatable: true },
    { name: 'secret', type: 'String', index: ['Property'], is_translatable: true },
    { name: 'status', type: 'String', index: ['Property'] },
  ],
}));

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });

const permission = fc
  .record({
    path: fc.constantFrom('**', '/a/**', '/a', '/b/*', '/*', '/*/x/**', '/b'),
    operations: fc.constant(['read']),
    node_types: some(fc.array(fc.constantFrom(...types), { minLength: 1, maxLength: 2 })),
    fields: some(fc.array(fc.constantFrom(...names), { maxLength: 2 })),
    except_fields: some(fc.array(fc.constantFrom(...names), { maxLength: 2 })),
    condition: some(fc.constantFrom(...conditions)),
  })
  .map((each) => Object.fromEntries(Object.entries(each).filter(([, value]) => value !== undefined)));

const permissionsDrawn = fc.array(permission, { minLength: 1, maxLength: 4 });

/** What is stored of a node, for the reference. */
interface Stored {
  readonly id: string;
  readonly path: string;
  readonly nodeType: string;
  readonly createdBy: string;
  readonly properties: JsonObject;
}

/** The same policy, whose scans learn nothing of some rows where they are. */
function vague(policy: Policy): Policy {
  const isVague = ({ id, isInPlace }: ReadableNode): boolean =>
    isInPlace === true && Number(id.slice(1)) % 3 !== 0;
  return {
    unrestricted: policy.unrestricted,
    administers: false,
    locks: false,
    needs: (operation, at) => policy.needs(operation, at),
    allows: (operation, subject) => policy.allows(operation, subject),
    mayAllow: (operation, at) => policy.mayAllow(operation, at),
    fields: (operation, subject) => policy.fields(operation, subject),
    readScope: (at) => {
      const { allows, fields, ...scope } = policy.readScope(at);
      return {
        ...scope,
        ...(allows && { allows: (node: ReadableNode) => (isVague(node) ? undefined : allows(node)) }),
        ...(fields && { fields: (node: ReadableNode) => (isVague(node) ? undefined : fields(node)) }),
      };
    },
  };
}

const me: Caller['principal'] = { ...adminOf('acme', 'me'), username: 'me' };

function worldOf(permissions: PlainWorld['roles']): PlainWorld {
  return {
    identity: 'me',
    isAnonymous: false,
    through: 'rest',
    branch: 'main',
    user: { id: 'my-node', path: '/users/me', roles: ['mine'] },
    roles: [{ role_id: 'mine', permissions }],
    groups: [],
    configs: [],
  };
}

describe('a branch under permissions', () => {
  let branch: BranchFixture;
  const stored: Stored[] = [];

  beforeAll(async () => {
    branch = await openBranch({ nodeTypes: definitions });
    const paths = ['a', 'b', 'c'].flatMap((top) => [
      `/${top}`,
      ...['x', 'y'].flatMap((name) => [
        `/${top}/${name}`,
        ...['x', 'z'].map((leaf) => `/${top}/${name}/${leaf}`),
      ]),
    ]);
    for (const [index, path] of paths.entries()) {
      const slash = path.lastIndexOf('/');
      const nodeType = types[index % 2] as string;
      const createdBy = index % 3 === 0 ? 'me' : 'you';
      const properties = {
        title: `title ${index}`,
        secret: `secret ${index % 4}`,
        status: index % 5 < 2 ? 'draft' : 'live',
      };
      const principal = { ...me, username: createdBy } as Caller['principal'];
      const node = { id: `n${index}`, name: path.slice(slash + 1), nodeType, properties };
      const parentPath = path.slice(0, slash) || '/';
      await branch.command(
        { type: 'CreateNode', workspace, parentPath, node, deep: false },
        { principal, policy: policyOf([{ path: '**', operations: ['create', 'read'] }]) },
      );
      stored.push({ id: `n${index}`, path, nodeType, createdBy, properties });
    }
  });
  afterAll(() => branch.close());

  it('shows what the rules say, in every form', async () => {
    const seen = { none: 0, some: 0, all: 0, cut: 0 };
    await fc.assert(
      fc.asyncProperty(permissionsDrawn, fc.boolean(), async (permissions, isVague) => {
        const world = worldOf(permissions);
        const shown = new Map<string, JsonObject>();
        for (const { path, properties, ...rest } of stored) {
          const node = readableNode({ path, properties, ...rest });
          const { nodeType } = rest;
          const { isPermitted, shows } = decidePlainly(world, 'read', { workspace, path, nodeType, node });
          if (!isPermitted) continue;
          const kept = Object.entries(properties).filter(([name]) => shows(name));
          if (kept.length < names.length) seen.cut += 1;
          shown.set(path, Object.fromEntries(kept));
        }
        seen[shown.size === 0 ? 'none' : shown.size === stored.length ? 'all' : 'some'] += 1;
        const policy = policyOf(permissions as JsonValue);
        const caller: Caller = { principal: me, policy: isVague ? vague(policy) : policy };
        await expectReads(shown, caller);
      }),
      {
        numRuns: workloadCount(120),
        // Whatever else is drawn, nothing, some nodes and some properties are shown.
        examples: [
          [[{ path: '/zz', operations: ['read'] }], false],
          [[{ path: '/a/**', operations: ['read'], fields: ['title'] }], false],
        ],
      },
    );
    expect(Math.min(seen.none, seen.some, seen.cut)).toBeGreaterThan(0);
  });

  it('lets nodes be changed as the rules say', async () => {
    const words = fc.subarray(['read', 'update', 'translate'], { minLength: 1 });
    const changing = fc
      .tuple(permission, words)
      .map(([each, operations]): Readonly<Record<string, unknown>> => ({ ...each, operations }));
    const seen = new Map<string, number>();
    const attempts = {
      update: (place: { path: string }, name: string) =>
        ({ type: 'PatchNode', workspace, place, properties: { [name]: 'x' } }) as const,
      translate: (place: { path: string }, name: string) =>
        ({
          type: 'TranslateNode',
          workspace,
          place,
          locale: 'de',
          translations: { [`/${name}`]: 'x' },
        }) as const,
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(changing, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('update', 'translate'),
        fc.constantFrom('title', 'secret'),
        async (permissions, operation, name) => {
          const world = worldOf(permissions);
          const caller: Caller = { principal: me, policy: policyOf(permissions as JsonValue) };
          for (const { id, path, nodeType, createdBy } of stored) {
            const { properties } = await branch.read(path);
            const node = readableNode({ id, path, nodeType, createdBy, properties });
            const subject = { workspace, path, nodeType, node };
            const [may, read] = [
              decidePlainly(world, operation, subject),
              decidePlainly(world, 'read', subject),
            ];
            const isPermitted = may.isPermitted && may.shows(name) && read.shows(name);
            const expected = !read.isPermitted
              ? 'NODE_NOT_FOUND'
              : isPermitted
                ? 'done'
                : 'PERMISSION_DENIED';
            // A translation replaces those of all properties: one of another run may be of a property that must stay.
            const place = { path };
            await branch.command({
              type: 'ChangeLocale',
              workspace,
              place,
              locale: 'de',
              change: 'delete-translation',
            });
            const outcome = await branch.command(attempts[operation](place, name), caller).then(
              () => 'done',
              ({ code }: { code: string }) => code,
            );
            expect([operation, name, path, outcome]).toEqual([operation, name, path, expected]);
            seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
          }
        },
      ),
      {
        numRuns: workloadCount(60),
        // Whatever else is drawn, a node is hidden, one may not be changed, and one may.
        examples: [
          [[{ path: '/a', operations: ['read', 'update'] }], 'update', 'title'],
          [[{ path: '/a', operations: ['read'] }], 'update', 'title'],
        ],
      },
    );
    expect([...seen.keys()].sort()).toEqual(['NODE_NOT_FOUND', 'PERMISSION_DENIED', 'done']);
  });

  async function expectReads(shown: ReadonlyMap<string, JsonObject>, caller: Caller): Promise<void> {
    const list = async (query: BranchQuery): Promise<readonly NodeObject[]> => {
      const answer = await branch.query(query, caller);
      return (Array.isArray(answer) ? answer : (answer as { items: unknown }).items) as readonly NodeObject[];
    };
    const expectNodes = (
      found: readonly NodeObject[],
      paths: readonly string[],
      query: BranchQuery,
    ): void => {
      expect([query, found.map(({ path }) => path)]).toEqual([query, paths]);
      for (const { has_children: hasChildren, path, properties } of found) {
        const { $supertypes: _, $mixins: __, ...rest } = properties;
        expect([query, path, rest]).toEqual([query, path, shown.get(path)]);
        const children = [...shown.keys()].filter((each) => each.slice(0, each.lastIndexOf('/')) === path);
        expect([query, path, hasChildren]).toEqual([query, path, children.length > 0]);
      }
    };
    const root = { workspace, place: { path: '/' } };
    const atRoot = [...shown.keys()].filter((path) => path.lastIndexOf('/') === 0);
    for (const query of [
      { type: 'ListChildren', ...root, scope: 's' },
      { type: 'ListChildren', ...root, scope: 's', limit: 100 },
      { type: 'RunQuery', workspace, selector: { parent: '/' } },
      { type: 'RunDslQuery', workspace, filter: {} },
    ] as const)
      expectNodes(await list(query), atRoot, query);
    const isReached = (path: string): boolean => {
      const parent = path.slice(0, path.lastIndexOf('/'));
      return shown.has(path) && (parent === '' || isReached(parent));
    };
    const tree = { type: 'ReadTree', ...root, levels: 4, form: 'flat' } as const;
    expectNodes(await list(tree), [...shown.keys()].filter(isReached), tree);
    for (const nodeType of types) {
      const query = { type: 'RunQuery', workspace, selector: { nodeType } } as const;
      const ofType = stored.filter((each) => each.nodeType === nodeType && shown.has(each.path));
      expectNodes(await list(query), ofType.map(({ path }) => path).sort(), query);
    }
    for (const name of names) {
      const filter = { [`properties.${name}`]: { exists: true } };
      const query = { type: 'RunDslQuery', workspace, filter } as const;
      const having = atRoot.filter((path) => Object.hasOwn(shown.get(path) as JsonObject, name));
      expectNodes(await list(query), having, query);
    }
    for (const secret of ['secret 0', 'secret 3']) {
      const filter = {
        'properties.secret': { ne: secret },
        order_by: { 'properties.secret': 'desc' },
      } as const;
      const query = { type: 'RunDslQuery', workspace, filter } as const;
      const values = (path: string): JsonValue | undefined => shown.get(path)?.secret;
      const found = atRoot.filter((path) => values(path) !== secret);
      const absentFirst = found.filter((path) => values(path) === undefined);
      const present = found.filter((path) => values(path) !== undefined);
      present.sort((a, b) => ((values(a) as string) > (values(b) as string) ? -1 : 1));
      expectNodes(await list(query), [...absentFirst, ...present], query);
    }
    await expectRows(shown, caller);
    for (const { path } of stored) {
      const query = { type: 'ReadNode', workspace, place: { path } } as const;
      const answer = await branch.query(query, caller).catch(({ code }: { code: string }) => code);
      if (shown.has(path)) expectNodes([answer as NodeObject], [path], query);
      else expect(answer).toBe('NODE_NOT_FOUND');
    }
  }

  /** The same by statements: what may not be read is in no row, count, join or order. */
  async function expectRows(shown: ReadonlyMap<string, JsonObject>, caller: Caller): Promise<void> {
    const rows = async (sql: string): Promise<readonly JsonObject[]> => {
      const query = { type: 'RunSql', sql, parameters: [] } as const;
      return ((await branch.query(query, caller)) as { rows: readonly JsonObject[] }).rows;
    };
    const table = `'${workspace}'`;
    const paths = [...shown.keys()].sort();
    const whole = await rows(`SELECT path, properties FROM ${table} ORDER BY path`);
    expect(whole.map(({ path }) => path)).toEqual(paths);
    for (const { path, properties } of whole) {
      const { $supertypes: _, $mixins: __, ...rest } = properties as JsonObject;
      expect([path, rest]).toEqual([path, shown.get(path as string)]);
    }
    const secrets = paths.map((path) => shown.get(path)?.secret ?? null);
    const known = secrets.filter((each) => each !== null).sort() as readonly string[];
    expect(
      await rows(
        `SELECT COUNT(*) AS n, COUNT(properties->>'secret') AS s, MAX(properties->>'secret') AS last FROM ${table}`,
      ),
    ).toEqual([{ n: paths.length, s: known.length, last: known.at(-1) ?? null }]);
    for (const secret of ['secret 0', 'secret 3'])
      expect(
        await rows(`SELECT path FROM ${table} WHERE properties->>'secret' = '${secret}' ORDER BY path`),
      ).toEqual(paths.filter((path) => shown.get(path)?.secret === secret).map((path) => ({ path })));
    expect(await rows(`SELECT properties->>'secret' AS s FROM ${table} ORDER BY s NULLS FIRST`)).toEqual(
      [...secrets.filter((each) => each === null), ...known].map((s) => ({ s })),
    );
    const joined = `SELECT a.path FROM ${table} a JOIN ${table} b ON b.path = PARENT(a.path) ORDER BY a.path`;
    const below = paths.filter((path) => shown.has(path.slice(0, path.lastIndexOf('/'))));
    expect(await rows(joined)).toEqual(below.map((path) => ({ path })));
    for (const nodeType of types) {
      const ofType = stored.filter((each) => each.nodeType === nodeType && shown.has(each.path));
      expect(await rows(`SELECT COUNT(*) AS n FROM ${table} WHERE node_type = '${nodeType}'`)).toEqual([
        { n: ofType.length },
      ]);
    }
  }
});
