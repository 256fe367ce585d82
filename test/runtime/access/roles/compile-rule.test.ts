import { describe, expect, it } from 'vitest';
import { DecisionWork } from '#runtime/access/decision-work.ts';
import { compileRule } from '#runtime/access/roles/compile-rule.ts';
import type { RuleCaller } from '#runtime/access/roles/rule-caller.ts';
import type { BoundCondition, NodeCondition, RuleCondition } from '#runtime/access/roles/rule-condition.ts';
import { readableNode } from '#test/support/readable-node.ts';

const caller: RuleCaller = {
  userId: 'ada',
  localUserId: 'ada-node',
  email: 'ada@example.org',
  isAnonymous: false,
  isSystem: false,
  roles: ['editor'],
  groups: [],
  home: '/users/ada',
  actingAsWard: null,
  activeStewardshipSource: null,
};

function bound(text: string, workspace = 'content'): BoundCondition {
  return (compileRule(text) as RuleCondition).bind({ caller, workspace });
}

/** Asks a condition about a node, as the only one of a decision. @returns also the work, in estimated nanoseconds */
function ask(
  condition: BoundCondition,
  spec: Parameters<typeof readableNode>[0],
): { readonly holds: boolean | undefined; readonly spent: number } {
  const node = readableNode(spec);
  let spent = 0;
  const work = new DecisionWork((nanoseconds) => {
    spent += nanoseconds;
  });
  work.begin(node.isInPlace === true);
  const holds = (condition as NodeCondition).holds(node, work);
  work.end();
  return { holds, spent };
}

const holdsFor = (...asked: Parameters<typeof ask>): boolean | undefined => ask(...asked).holds;

describe('the condition of a permission', () => {
  it.each([
    ["auth.roles.contains('editor')", true],
    ['auth.is_anonymous', false],
    ["node.workspace == 'content'", true],
    ["node['workspace'].startsWith('svc:')", false],
    ["!node.workspace.startsWith('svc:') && auth.home != null", true],
  ])('is decided for all nodes of a workspace: %s', (text, decided) => {
    expect(bound(text)).toBe(decided);
  });

  it('is asked for each node, and knows where those are for which it holds', () => {
    const own = bound("node.path.descendantOf(auth.home) && node.state == 'draft'");
    if (typeof own === 'boolean') throw new Error('it depends on the node');
    expect(own.needs).toEqual({ columns: false, properties: true, relations: false });
    expect(own.tops).toEqual(['/users/ada']);
    const draft = { path: '/users/ada/a', properties: { state: 'draft' } };
    expect(holdsFor(own, draft)).toBe(true);
    expect(holdsFor(own, { ...draft, path: '/users/ada-2/a' })).toBe(false);
    expect(holdsFor(own, { ...draft, properties: { state: 'final' } })).toBe(false);
    expect(holdsFor(own, { ...draft, properties: {} })).toBe(false);
  });

  it.each([
    ['node.created_by == auth.user_id', { createdBy: 'ada' }, { createdBy: 'bob' }],
    ['node.updated_by == auth.user_id', { updatedBy: 'ada' }, { updatedBy: 'bob' }],
    ['node.owner_id == auth.user_id', { ownerId: 'ada' }, { ownerId: null }],
    ['node.id == auth.local_user_id', { id: 'ada-node' }, { id: 'ada' }],
  ])('looks at columns alone: %s', (text, node, other) => {
    const condition = bound(text);
    if (typeof condition === 'boolean') throw new Error('it depends on the node');
    expect(condition.needs).toEqual({ columns: true, properties: false, relations: false });
    expect(condition.tops).toBeUndefined();
    expect(holdsFor(condition, node)).toBe(true);
    expect(holdsFor(condition, other)).toBe(false);
  });

  it.each(["node.name == 'a'", "node.node_type == 'blog:Post'", "node.path == '/a'"])(
    'needs nothing that a question to a policy does not come with: %s',
    (text) => {
      expect(bound(text)).toMatchObject({ needs: { columns: false, properties: false, relations: false } });
    },
  );

  it('asks for relations where there are some, and does not hold where there are none', () => {
    const friends = bound("node.id RELATES auth.local_user_id VIA 'FRIENDS_WITH'");
    if (typeof friends === 'boolean') throw new Error('it depends on the node');
    expect(friends).toMatchObject({ needs: { columns: true, properties: false, relations: true } });
    expect(holdsFor(friends, { id: 'a' })).toBe(false);
    const related = (from: string, to: string): boolean => from === 'a' && to === 'ada-node';
    const relations = { related };
    expect(holdsFor(friends, { id: 'a', relations })).toBe(true);
    expect(holdsFor(friends, { id: 'b', relations })).toBe(false);
  });

  it('is not told by a row in place where it asks for relations, or takes too much work', () => {
    const friends = bound("node.owner_id == 'x' || node.id RELATES auth.local_user_id VIA 'FRIENDS_WITH'");
    const long = bound("node.text.contains('b') && node.created_by == auth.user_id");
    const isInPlace = true;
    expect(holdsFor(friends, { ownerId: 'x', isInPlace })).toBeUndefined();
    expect(holdsFor(friends, { ownerId: 'x' })).toBe(true);
    const node = { createdBy: 'ada', properties: { text: `${'a'.repeat(10_000)}b` } };
    expect(holdsFor(long, { ...node, isInPlace })).toBeUndefined();
    expect(holdsFor(long, node)).toBe(true);
    expect(holdsFor(long, { ...node, properties: { text: 'b' }, isInPlace })).toBe(true);
    expect(holdsFor(long, { ...node, createdBy: 'bob', properties: { text: 'b' }, isInPlace })).toBe(false);
  });

  it('counts the work that it does', () => {
    const long = bound("node.text.contains('b')");
    const workFor = (text: string): number => {
      const { holds, spent } = ask(long, { properties: { text } });
      expect(holds).toBe(true);
      return spent;
    };
    expect(workFor('b')).toBeLessThan(1_000);
    expect(workFor(`${'a'.repeat(10_000)}b`)).toBeGreaterThan(100_000);
  });

  it('says where a text is no condition', () => {
    expect(compileRule("node.path ==\n  'a")).toEqual({
      error: expect.stringMatching(/\(line 2, column \d+\)$/) as string,
    });
  });
});
