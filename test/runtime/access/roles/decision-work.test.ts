import { describe, expect, it } from 'vitest';
import { DECISION_WORK_MAX, DecisionWork, ROW_WORK_MAX } from '#runtime/access/decision-work.ts';
import type { Policy, ReadableNode, Subject } from '#runtime/access/policy.ts';
import { compileRule } from '#runtime/access/roles/compile-rule.ts';
import { type Role, roleOf } from '#runtime/access/roles/access-nodes.ts';
import { grantsOfUser } from '#runtime/access/roles/grants.ts';
import { RolePolicy } from '#runtime/access/roles/role-policy.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { WORK_MAX } from '#runtime/rel/evaluation/evaluation.ts';
import { tooLong } from '#runtime/rel/ports.ts';
import { readableNode } from '#test/support/readable-node.ts';
import { testRecords, testUser } from './access-fixture.ts';

const UNIT = 5;
const tooExpensive = expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }) as Error;

/** A policy as it is made of a role, before anything is bound. */
function bare(permissions: readonly JsonObject[]): RolePolicy {
  const properties = { role_id: 'mine', permissions };
  const role = atOnce(roleOf({ id: 'mine', path: '/roles/mine', properties }, compileRule)) as Role;
  const grants = grantsOfUser('me', testUser({ roles: ['mine'] }), testRecords([role]));
  return new RolePolicy(grants, 'main', { administers: false, locks: false });
}

function policyWith(permissions: readonly JsonObject[]): RolePolicy {
  const policy = bare(permissions);
  atOnce(policy.prepare());
  return policy;
}

const many = (count: number, permission: (index: number) => JsonObject): JsonObject[] =>
  Array.from({ length: count }, (_, index) => ({ path: '**', operations: ['read'], ...permission(index) }));

/** Conditions that look at the name alone, take some thousand units and do not hold. */
const heavy = many(400, (index) => ({
  condition: Array.from({ length: 140 }, () => `node.name.contains('${index}')`).join('||'),
}));

/** A policy with too many of them; not all of them show all properties. */
const tooHeavy = policyWith([{ ...heavy[0], fields: ['a'] }, ...heavy.slice(1)]);

type Spec = Parameters<typeof readableNode>[0];

/** Asks whether a node may be read. @returns the answer, or the error, and the units of work that were counted */
function ask(policy: Policy, spec: Spec, question: (policy: Policy, subject: Subject) => unknown = allowed) {
  let spent = 0;
  const work = new DecisionWork((nanoseconds) => {
    spent += nanoseconds / UNIT;
  });
  const node: ReadableNode = readableNode({ ...spec, work });
  const subject = { workspace: 'content', path: node.path, nodeType: node.nodeType, node, work };
  try {
    return { answer: question(policy, subject), spent };
  } catch (answer) {
    return { answer, spent };
  }
}

const allowed = (policy: Policy, subject: Subject): unknown => policy.allows('read', subject);
const listed = (policy: Policy, { node }: Subject): unknown =>
  policy.readScope('content').allows?.(node as ReadableNode);

describe('a decision about a node', () => {
  it.each<[string, (policy: Policy, subject: Subject) => unknown]>([
    ['whether it may be read', allowed],
    ['whether a list may show it', listed],
    ['which properties are shown', (policy, subject) => policy.fields('read', subject)],
    [
      'which properties are shown in a list',
      (policy, { node }) => policy.readScope('content').fields?.(node as ReadableNode),
    ],
    ['with its path and type alone', (policy, { node: _, ...place }) => policy.allows('read', place)],
  ])('ends with an error when its permissions take too much work together: %s', (_, question) => {
    const { answer, spent } = ask(tooHeavy, {}, question);
    expect(answer).toEqual(tooExpensive);
    expect(spent).toBeGreaterThan(DECISION_WORK_MAX - 10_000);
    expect(spent).toBeLessThanOrEqual(DECISION_WORK_MAX);
  });

  it('is made where few of them take work', () => {
    expect(ask(policyWith(heavy.slice(0, 20)), {}).answer).toBe(false);
    const yes = policyWith([...heavy.slice(1), { path: '/node', operations: ['read'] }]);
    expect(ask(yes, {}).answer).toBe(true);
  });

  it('tells nothing of a row in place when they take more than little work', () => {
    for (const question of [allowed, listed]) {
      const { answer, spent } = ask(tooHeavy, { isInPlace: true }, question);
      expect(answer).toBe(question === allowed ? false : undefined);
      expect(spent).toBeLessThanOrEqual(ROW_WORK_MAX);
    }
  });

  it('counts patterns of paths', () => {
    const path = `/${'a/'.repeat(400)}z`;
    const globs = many(500, (index) => ({ path: `/**/${'a*/'.repeat(100)}**/y${index}` }));
    expect(ask(policyWith(globs), { path }).answer).toEqual(tooExpensive);
    const { answer, spent } = ask(policyWith(globs.slice(0, 3)), { path });
    expect(answer).toBe(false);
    expect(spent).toBeGreaterThan(10_000);
  });

  it('counts what relations take, which several conditions ask for', () => {
    const friends = many(40, (index) => ({ condition: `node.id RELATES 'x${index}' VIA 'KNOWS'` }));
    const looking = (nanoseconds: number): unknown => {
      const work = new DecisionWork();
      const related = (): boolean => {
        work.takeTime(nanoseconds);
        return false;
      };
      const node = readableNode({ relations: { related }, work });
      const subject = { workspace: 'content', path: node.path, nodeType: node.nodeType, node };
      try {
        return policyWith(friends).allows('read', subject);
      } catch (error) {
        return error;
      }
    };
    expect(looking(20_000)).toBe(false);
    expect(looking(200_000)).toEqual(tooExpensive);
  });

  it('reads a long property once for all conditions', () => {
    const text = 'x'.repeat(WORK_MAX - 1_000);
    const conditions = many(30, (index) => ({ condition: `node.text == 'y${index}'` }));
    const { answer, spent } = ask(policyWith(conditions), { properties: { text } });
    expect(answer).toBe(false);
    expect(spent).toBeGreaterThan(WORK_MAX - 2_000);
    expect(spent).toBeLessThan(WORK_MAX + 2_000);
    // It is not taken for that of the next node.
    const policy = policyWith(conditions);
    const work = new DecisionWork();
    for (const found of ['y1', 'z', 'y2']) {
      const node = readableNode({ properties: { text: found }, work });
      const subject = { workspace: 'content', path: node.path, nodeType: node.nodeType, node };
      expect(policy.allows('read', subject)).toBe(found !== 'z');
    }
  });

  it('takes no condition for false that only lacks the work of the others', () => {
    const text = 'x'.repeat(0.9 * WORK_MAX);
    const found = { condition: "node.last == 'x'" };
    const texts = (count: number): JsonObject[] =>
      many(count, (index) => ({ condition: `node.t${index} == 'y'` }));
    const properties = { t0: text, t1: text, t2: text, last: 'x' };
    expect(ask(policyWith([...texts(2), ...many(1, () => found)]), { properties }).answer).toBe(true);
    expect(ask(policyWith([...texts(3), ...many(1, () => found)]), { properties }).answer).toEqual(
      tooExpensive,
    );
    // A text that no condition may read makes none of them false for another one.
    const longer = { ...properties, t0: 'x'.repeat(2 * WORK_MAX) };
    expect(ask(policyWith([...texts(2), ...many(1, () => found)]), { properties: longer }).answer).toBe(true);
    // A stored node does not decode a property that is longer than what is left.
    const length = 0.75 * WORK_MAX;
    const node: ReadableNode = {
      ...readableNode({ work: new DecisionWork() }),
      property: (_, lengthMax = 0) => (lengthMax < length ? tooLong : 'x'.repeat(length)),
    };
    const subject = { workspace: 'content', path: node.path, nodeType: node.nodeType, node };
    expect(policyWith(texts(2)).allows('read', subject)).toBe(false);
    expect(() => policyWith(texts(3)).allows('read', subject)).toThrowError(tooExpensive);
  });

  it('leaves each condition its own bound, which the others do not change', () => {
    const text = 'x'.repeat(0.6 * WORK_MAX);
    const twice = { condition: "node.text == 'y' || node.text != 'y'" };
    const once = { condition: "node.text == 'y'" };
    for (const conditions of [[twice], [once, twice], [twice, once]]) {
      const { answer } = ask(policyWith(many(conditions.length, (i) => conditions[i] as JsonObject)), {
        properties: { text },
      });
      expect(answer).toBe(false);
    }
    expect(ask(policyWith(many(1, () => twice)), { properties: { text: 'x' } }).answer).toBe(true);
  });

  it('takes the work of one for several, between which nothing pauses', () => {
    const { spent } = ask(policyWith(heavy.slice(0, 1)), {});
    const policy = policyWith(heavy.slice(0, Math.floor((0.7 * DECISION_WORK_MAX) / spent)));
    const both = (work: DecisionWork): boolean => {
      const node = readableNode({ work });
      const subject = { workspace: 'content', path: node.path, nodeType: node.nodeType, node };
      return policy.allows('read', subject) || policy.allows('read', subject);
    };
    expect(both(new DecisionWork())).toBe(false);
    const work = new DecisionWork();
    expect(() => work.together(() => both(work))).toThrowError(tooExpensive);
    // Afterwards each has its own again.
    expect(both(work)).toBe(false);
  });
});

describe('many permissions', () => {
  it('cost a node only those that its path and type can have', () => {
    const elsewhere = many(479, (index) => ({
      path: `/else-${index}/**`,
      condition: 'node.created_by == auth.user_id',
    }));
    const others = many(20, (index) => ({ path: '/here/**', node_types: [`t:${index}`] }));
    const policy = policyWith([...elsewhere, ...others, { path: '/here/*', operations: ['read'] }]);
    ask(policy, { path: '/here/a' });
    const { answer, spent } = ask(policy, { path: '/here/a' });
    expect(answer).toBe(true);
    expect(spent).toBeLessThan(100);
    expect(ask(policy, { path: '/else-7/a', createdBy: 'me' }).answer).toBe(true);
    expect(ask(policy, { path: '/else-7/a', createdBy: 'you' }).answer).toBe(false);
    expect(ask(policy, { path: '/else-7', createdBy: 'me' }).answer).toBe(true);
    expect(ask(policy, { path: '/else-70000', createdBy: 'me' }).answer).toBe(false);
    expect(ask(policy, { path: '/there/a', nodeType: 't:3' }).answer).toBe(false);
    expect(ask(policy, { path: '/here/a/b', nodeType: 't:3' }).answer).toBe(true);
  });

  it('answer the same at many places', () => {
    const deep = many(200, (index) => ({
      path: `/a/${index}/**`,
      ...(index % 3 === 0 ? { fields: ['a'] } : {}),
    }));
    const policy = policyWith([...deep, { path: '/a/**', operations: ['read'], fields: ['b'] }]);
    for (let round = 0; round < 2; round += 1)
      for (let index = 0; index < 220; index += 1) {
        const { answer } = ask(policy, { path: `/a/${index}/x` }, (each, subject) => {
          const fields = each.fields('read', subject);
          return ['a', 'b', 'c'].filter((name) => fields.has(name)).join('');
        });
        expect([index, answer]).toEqual([index, index >= 200 ? 'b' : index % 3 === 0 ? 'a' : 'abc']);
      }
  });

  it('of the places above count where those of a place do not hold', () => {
    const narrow = many(20, (index) => ({ path: `/a/${index}/**`, condition: "node.title == 'never'" }));
    const policy = policyWith([
      ...narrow,
      { path: '/a/**', operations: ['read'], condition: 'node.title == "x"' },
    ]);
    expect(ask(policy, { path: '/a/7/x', properties: { title: 'x' } }).answer).toBe(true);
    expect(ask(policy, { path: '/a/7', properties: { title: 'never' } }).answer).toBe(true);
    expect(ask(policy, { path: '/a', properties: { title: 'never' } }).answer).toBe(false);
  });

  it('are bound in steps', () => {
    const policy = bare(heavy);
    expect(policy.isLarge).toBe(true);
    // Nobody binds them in one step.
    expect(() => policy.readScope('content')).toThrowError(tooExpensive);
    expect([...policy.prepare()]).toHaveLength(heavy.length);
    expect(policy.isLarge).toBe(false);
    expect(policy.readScope('content').isNone).toBe(false);
    expect(bare(heavy.slice(0, 2)).isLarge).toBe(false);
  });

  it('are refused when those are too long together that depend on the workspace', () => {
    const ofWorkspace = (count: number) =>
      policyWith(
        many(count, (index) => ({ condition: `node.workspace == 'w${index}' && node.name == 'x'` })),
      );
    expect(ofWorkspace(100).readScope('w7').isNone).toBe(false);
    expect(ofWorkspace(100).readScope('other').isNone).toBe(true);
    expect(() => ofWorkspace(400).readScope('w7')).toThrowError(tooExpensive);
  });

  it('are refused when they name too many types and properties', () => {
    const naming = (count: number) =>
      bare(many(count, () => ({ node_types: Array.from({ length: 1_000 }, (_, n) => `t:${n}`) })));
    expect(naming(19).readScope('content').isNone).toBe(false);
    expect(() => naming(21)).toThrowError(tooExpensive);
  });

  it('tell a scan where to look, unless these are too many paths', () => {
    const below = (count: number) =>
      policyWith(many(count, (index) => ({ path: `/a/${index % 40}/${index}/**` })));
    expect(below(20).readScope('content').tops).toHaveLength(20);
    expect(below(40).readScope('content').tops).toBeUndefined();
    const withTop = policyWith([
      ...many(100, (index) => ({ path: `/a/${index}/**` })),
      { path: '/a/**', operations: ['read'] },
      { path: '/a-b/**', operations: ['read'] },
    ]);
    expect(withTop.readScope('content').tops).toEqual(['/a-b', '/a']);
    const paths = (start: string): string => Array.from({ length: 99 }, (_, n) => `'${start}${n}'`).join(',');
    const listedPaths = many(50, (index) => ({ condition: `[${paths(`/p${index}-`)}].contains(node.path)` }));
    const scope = policyWith(listedPaths).readScope('content');
    expect(scope.tops).toBeUndefined();
    expect(scope.allows?.(readableNode({ path: '/p7-7' }))).toBe(true);
    expect(scope.allows?.(readableNode({ path: '/p7-700' }))).toBe(false);
  });
});
