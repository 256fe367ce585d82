import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CONDITION_LENGTH_MAX,
  NAMES_MAX,
  NOTICES_MAX,
  type ParsedPermissions,
  parsePermissions,
  PATTERN_LENGTH_MAX,
  PERMISSIONS_MAX,
} from '#runtime/access/roles/permission.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { compileForTest } from './test-conditions.ts';

function parsed(stored: JsonValue | undefined): ParsedPermissions {
  return atOnce(parsePermissions(stored, compileForTest));
}

/** What an entry becomes; undefined when it grants nothing. */
function entry(more: JsonObject): ParsedPermissions['permissions'][number] | undefined {
  return parsed([{ path: '/a/**', operations: ['read'], ...more }]).permissions[0];
}

/** Why an entry has less effect than it says. */
function reasons(more: JsonObject): string {
  return parsed([{ path: '/a/**', operations: ['read'], ...more }])
    .notices.map(({ reason }) => reason)
    .join('\n');
}

describe('parsePermissions', () => {
  it('reads every key', () => {
    const { notices, permissions } = parsed([
      {
        path: '/blog/**',
        operations: ['READ', 'Update'],
        workspace: 'con*',
        branch_pattern: 'feature/*',
        node_types: ['blog:Article'],
        fields: ['title'],
        condition: 'own',
      },
    ]);
    expect(notices).toEqual([]);
    const [permission] = permissions;
    expect(permission?.path.text).toBe('/blog/**');
    expect([...(permission?.operations ?? [])]).toEqual(['read', 'update']);
    expect(permission?.workspace.matches('content')).toBe(true);
    expect(permission?.workspace.matches('other')).toBe(false);
    expect(permission?.branches.every((glob) => glob.matches('feature/x'))).toBe(true);
    expect(permission?.branches.every((glob) => glob.matches('main'))).toBe(false);
    expect([...(permission?.nodeTypes ?? [])]).toEqual(['blog:Article']);
    expect(permission?.fields).toMatchObject({ kind: 'only', names: new Set(['title']) });
    expect(permission?.condition?.text).toBe('own');
  });

  it('reads each operation', () => {
    const every = ['create', 'read', 'update', 'delete', 'translate', 'relate', 'unrelate'];
    expect([...(entry({ operations: every })?.operations ?? [])]).toEqual(every);
  });

  it.each<[string, JsonObject]>([
    ['absent keys', {}],
    ['null', { workspace: null, branch: null, node_types: null, fields: null, condition: null }],
    ['empty texts and lists', { workspace: '', branch: '', branch_pattern: '', node_types: [] }],
    ['an asterisk', { workspace: '*', branch: '*' }],
    ['empty conditions of the old form', { conditions: {} }],
    ['descriptions', { description: 'for the press', id: 7, comment: null }],
  ])('restricts nothing by %s', (_, more) => {
    const permission = entry(more);
    expect(permission).toMatchObject({ nodeTypes: undefined, condition: undefined });
    expect(permission?.fields.isAll).toBe(true);
    expect(permission?.workspace.matches('svc:system')).toBe(true);
    expect(permission?.branches.every((glob) => glob.matches('a/b'))).toBe(true);
    expect(reasons(more)).toBe('');
  });

  it('reads both names of the branch, and needs both to match', () => {
    const matches = (more: JsonObject, branch: string): boolean | undefined =>
      entry(more)?.branches.every((glob) => glob.matches(branch));
    expect(matches({ branch: 'x*' }, 'xy')).toBe(true);
    expect(matches({ branch: 'x*' }, 'main')).toBe(false);
    expect(matches({ branch_pattern: 'x*' }, 'main')).toBe(false);
    expect(matches({ branch: 'x*', branch_pattern: '*y' }, 'xy')).toBe(true);
    expect(matches({ branch: 'x*', branch_pattern: '*y' }, 'xz')).toBe(false);
  });

  it('ignores unknown operations and says so', () => {
    const more = { operations: ['READ', 'fly', 5, null, ' read'] };
    expect([...(entry(more)?.operations ?? [])]).toEqual(['read']);
    expect(reasons(more).split('\n')).toEqual(
      ['"fly"', '5', 'null', '" read"'].map((word) => `The operation ${word} is unknown and is ignored`),
    );
  });

  it.each<[string, JsonObject, string]>([
    ['no path', { path: null }, "no 'path'"],
    ['a path that is no text', { path: ['/a'] }, "'path' is not a text"],
    ['a path with an empty segment', { path: '/a//b' }, 'no path matches'],
    ['a path with a slash at its end', { path: '/a/' }, 'no path matches'],
    ['a path with characters that no name has', { path: '/ä/**' }, 'no path matches'],
    ['a long path', { path: `/${'a'.repeat(PATTERN_LENGTH_MAX)}` }, 'longer than'],
    ['no operations', { operations: null }, "'operations' are not a list"],
    ['operations that are a text', { operations: 'read' }, "'operations' are not a list"],
    ['no known operation', { operations: ['fly'] }, 'no known operation'],
    ['a list of workspaces', { workspace: ['a'] }, "'workspace' is not a text"],
    ['a workspace pattern that cannot match', { workspace: '[a' }, 'no name matches'],
    ['a long workspace', { workspace: 'a'.repeat(PATTERN_LENGTH_MAX + 1) }, 'longer than'],
    ['a branch that is no text', { branch: false }, "'branch' is not a text"],
    ['a branch pattern that cannot match', { branch_pattern: 'a{b}' }, 'no name matches'],
    ['types that are a text', { node_types: 'a:B' }, "'node_types' are not a list"],
    ['types that are an object', { node_types: {} }, "'node_types' are not a list"],
    ['types that are no names', { node_types: [1, null, ''] }, "none of its 'node_types'"],
    ['a condition that is no text', { condition: {} }, "'condition' is not a text"],
    ['a condition that is true', { condition: true }, "'condition' is not a text"],
    ['an empty condition', { condition: '' }, 'cannot be read'],
    ['a condition that does not compile', { condition: 'unheard' }, "there is no condition 'unheard'"],
    ['a long condition', { condition: 'a'.repeat(CONDITION_LENGTH_MAX + 1) }, 'longer than'],
    ['conditions of the old form', { conditions: { owner: '$user.id' } }, "write a 'condition'"],
    ['conditions besides a condition', { conditions: ['x'], condition: 'always' }, "write a 'condition'"],
    ['conditions that are a text', { conditions: 'x' }, "write a 'condition'"],
    ['conditions that are false', { conditions: false }, "write a 'condition'"],
    ['a key that is not known', { node_type: 'a:B' }, "'node_type' is unknown"],
    ['a key of prototypes', { constructor: 'x' }, "'constructor' is unknown"],
    ['a permission that denies', { effect: 'deny' }, "'effect' is unknown"],
  ])('grants nothing for %s', (_, more, reason) => {
    expect(entry(more)).toBeUndefined();
    expect(reasons(more)).toContain('The permission grants nothing');
    expect(reasons(more)).toContain(reason);
  });

  it('grants nothing for a key named like a prototype', () => {
    const stored = JSON.parse('[{"path": "**", "operations": ["read"], "__proto__": {"path": "/"}}]');
    expect(parsed(stored as JsonValue).permissions).toEqual([]);
    const inherited = JSON.parse('[{"__proto__": {"path": "**", "operations": ["read"]}}]');
    expect(parsed(inherited as JsonValue).permissions).toEqual([]);
  });

  it('keeps the names among node types', () => {
    const more = { node_types: ['a:B', 5, 'a'.repeat(2_000), '__proto__'] };
    expect(entry(more)?.nodeTypes).toEqual(new Set(['a:B', '__proto__']));
    expect(reasons(more)).toContain("Some of its 'node_types' are no names");
  });

  it.each<[string, JsonObject, readonly string[]]>([
    ['the named fields', { fields: ['a', 'b'] }, ['a', 'b']],
    ['the named fields among other values', { fields: ['a', 5] }, ['a']],
    ['no field of an empty list', { fields: [] }, []],
    ['all but the named ones', { except_fields: ['a'] }, ['b', 'constructor']],
    ['all with nothing left out', { except_fields: [] }, ['a', 'b', 'constructor']],
    ['the named fields whatever else is left out', { fields: ['a'], except_fields: ['a'] }, ['a']],
    ['the named fields whatever else cannot be read', { fields: ['a'], except_fields: 5 }, ['a']],
    ['none for fields that are a text', { fields: 'a' }, []],
    ['none for exceptions that are a text', { except_fields: 'a' }, []],
    ['none for exceptions that are no names', { except_fields: ['a', 5] }, []],
    ['none for too many exceptions', { except_fields: Array(NAMES_MAX + 1).fill('a') }, []],
    ['a field named like a prototype', { fields: ['constructor'] }, ['constructor']],
  ])('shows %s', (_, more, shown) => {
    const { fields } = entry(more) ?? {};
    expect(['a', 'b', 'constructor'].filter((name) => fields?.has(name))).toEqual(shown);
  });

  it('says why no property is shown', () => {
    expect(reasons({ fields: 'a' })).toContain('The permission shows no property');
    expect(reasons({ except_fields: [5] })).toContain('The permission shows no property');
    expect(reasons({ fields: ['a'], except_fields: ['b'] })).toContain("'except_fields' is ignored");
  });

  it.each<[JsonValue | undefined, number]>([
    [undefined, 0],
    [null, 0],
    [{}, 1],
    ['**', 1],
    [5, 1],
    [true, 1],
    [[], 0],
    [[null, 5, 'x', [], true], 5],
  ])('grants nothing where the permissions are %j', (stored, notices) => {
    expect(parsed(stored).permissions).toEqual([]);
    expect(parsed(stored).notices).toHaveLength(notices);
  });

  it('names the entries that it ignores, by their number', () => {
    const good = { path: '**', operations: ['read'] };
    const { notices, permissions } = parsed([good, { operations: ['read'] }, good, 5]);
    expect(permissions).toHaveLength(2);
    expect(notices.map(({ index }) => index)).toEqual([1, 3]);
  });

  it('bounds the entries and the notices, and pauses after each entry', () => {
    const good = { path: '**', operations: ['read'] };
    const many = parsed(Array(PERMISSIONS_MAX + 10).fill(good));
    expect(many.permissions).toHaveLength(PERMISSIONS_MAX);
    expect(many.notices).toEqual([
      { reason: `Only the first ${PERMISSIONS_MAX} of ${PERMISSIONS_MAX + 10} permissions count` },
    ]);
    expect(parsed(Array(PERMISSIONS_MAX).fill(5)).notices).toHaveLength(NOTICES_MAX);
    const words = parsed([{ ...good, operations: Array(1_000_000).fill('fly') }]);
    expect(words.notices).toHaveLength(NOTICES_MAX);
    expect([...parsePermissions([good, 5, good], compileForTest)]).toHaveLength(3);
  });

  it('grants nothing by values of any shape that restrict nothing', () => {
    const value = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom('**', 'always', ['read'], ['t:A']));
    const keys = [
      'path',
      'operations',
      'workspace',
      'branch',
      'node_types',
      'fields',
      'condition',
      'conditions',
    ];
    const stored = fc.record(Object.fromEntries(keys.map((key) => [key, value])), { requiredKeys: [] });
    const isList = (value: unknown): boolean => value == null || Array.isArray(value);
    const isText = (value: unknown): boolean => value == null || typeof value === 'string';
    fc.assert(
      fc.property(stored, (drawn) => {
        const whole = { path: '**', operations: ['read'], ...drawn } as JsonObject;
        const { notices, permissions } = parsed([whole]);
        if (permissions.length === 0) {
          expect(notices.length).toBeGreaterThan(0);
          return;
        }
        expect(typeof whole.path).toBe('string');
        expect(Array.isArray(whole.operations)).toBe(true);
        expect(isText(whole.workspace) && isText(whole.branch) && isText(whole.condition)).toBe(true);
        expect(isList(whole.node_types)).toBe(true);
        expect(JSON.stringify(whole.conditions ?? [])).toMatch(/^(\[\]|\{\})$/);
        const [permission] = permissions;
        expect(permission?.condition === undefined).toBe(whole.condition == null);
        if (!isList(whole.fields)) expect(permission?.fields.has('title')).toBe(false);
      }),
      { numRuns: workloadCount(2_000) },
    );
  });
});
