import { describe, expect, it } from 'vitest';
import { compileRule } from '#runtime/access/roles/compile-rule.ts';
import type { BoundCondition, RuleCaller, RuleCondition } from '#runtime/access/roles/rule-condition.ts';
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
    expect(own.holds(readableNode(draft))).toBe(true);
    expect(own.holds(readableNode({ ...draft, path: '/users/ada-2/a' }))).toBe(false);
    expect(own.holds(readableNode({ ...draft, properties: { state: 'final' } }))).toBe(false);
    expect(own.holds(readableNode({ ...draft, properties: {} }))).toBe(false);
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
    expect(condition.holds(readableNode(node))).toBe(true);
    expect(condition.holds(readableNode(other))).toBe(false);
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
    expect(friends.holds(readableNode({ id: 'a' }))).toBe(false);
    const spent: number[] = [];
    const related = (from: string, to: string): boolean => from === 'a' && to === 'ada-node';
    const means = { relations: { related }, spend: (work: number) => void spent.push(work) };
    expect(friends.holds(readableNode({ id: 'a', means }))).toBe(true);
    expect(friends.holds(readableNode({ id: 'b', means }))).toBe(false);
    expect(Math.min(...spent)).toBeGreaterThan(1_000_000);
  });

  it('is not told by a row in place where it asks for relations, or takes too much work', () => {
    const friends = bound("node.owner_id == 'x' || node.id RELATES auth.local_user_id VIA 'FRIENDS_WITH'");
    const long = bound("node.text.contains('b') && node.created_by == auth.user_id");
    const isInPlace = true;
    const holds = (condition: BoundCondition, node: Parameters<typeof readableNode>[0]) =>
      typeof condition === 'boolean' ? condition : condition.holds(readableNode(node));
    expect(holds(friends, { ownerId: 'x', isInPlace })).toBeUndefined();
    expect(holds(friends, { ownerId: 'x' })).toBe(true);
    const node = { createdBy: 'ada', properties: { text: `${'a'.repeat(10_000)}b` } };
    expect(holds(long, { ...node, isInPlace })).toBeUndefined();
    expect(holds(long, node)).toBe(true);
    expect(holds(long, { ...node, properties: { text: 'b' }, isInPlace })).toBe(true);
    expect(holds(long, { ...node, createdBy: 'bob', properties: { text: 'b' }, isInPlace })).toBe(false);
  });

  it('counts more work only where little does not do', () => {
    const long = bound("node.text.contains('b')");
    if (typeof long === 'boolean') throw new Error('it depends on the node');
    const workFor = (text: string): number => {
      const spent: number[] = [];
      const means = { relations: { related: () => false }, spend: (work: number) => void spent.push(work) };
      expect(long.holds(readableNode({ properties: { text }, means }))).toBe(true);
      return Math.max(...spent);
    };
    expect(workFor('b')).toBeLessThan(100_000);
    expect(workFor(`${'a'.repeat(10_000)}b`)).toBeGreaterThan(1_000_000);
  });

  it('says where a text is no condition', () => {
    expect(compileRule("node.path ==\n  'a")).toEqual({
      error: expect.stringMatching(/\(line 2, column \d+\)$/) as string,
    });
  });
});
