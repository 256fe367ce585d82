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

  it('does not hold where it asks for relations: a scan cannot answer that', () => {
    const friends = bound("node.id RELATES auth.local_user_id VIA 'FRIENDS_WITH'");
    expect(friends).toMatchObject({ needs: { columns: true, properties: false, relations: true } });
    if (typeof friends !== 'boolean') expect(friends.holds(readableNode({ id: 'a' }))).toBe(false);
  });

  it('says where a text is no condition', () => {
    expect(compileRule("node.path ==\n  'a")).toEqual({
      error: expect.stringMatching(/\(line 2, column \d+\)$/) as string,
    });
  });
});
