import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { authorizeFields, isInScope, type Operation, type Subject } from '#runtime/access/policy.ts';
import { groupOf, type Role, roleOf, securityConfigOf, userOf } from '#runtime/access/roles/access-nodes.ts';
import {
  type AccessRecords,
  byId,
  grantsOfAnonymous,
  grantsOfUser,
  type Interface,
} from '#runtime/access/roles/grants.ts';
import { RolePolicy } from '#runtime/access/roles/role-policy.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { scopeFilter } from '#runtime/scan/row-filter.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { RecordView } from '#runtime/tree/record/record-view.ts';
import { plainHeader } from '#test/support/plain-header.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { everyOperation } from './access-fixture.ts';
import { config, groupNames, named, names, role, roleNames, types, user } from './any-roles.ts';
import { decidePlainly, type PlainWorld } from './plain-policy.ts';
import { compileForTest } from './test-conditions.ts';

const workspaces = ['content', 'contents', 'svc:access_control'];

const world = fc.record({
  identity: fc.constant('me'),
  isAnonymous: fc.boolean(),
  through: fc.constantFrom('rest', 'other'),
  branch: fc.constantFrom('main', 'feature/x'),
  user: fc.option(user, { nil: undefined, freq: 8 }),
  roles: fc.uniqueArray(role, { maxLength: 5, selector: ({ role_id: id }) => id }),
  groups: fc.uniqueArray(
    fc.record({ group_id: fc.constantFrom(...groupNames), roles: named(roleNames, '/roles/') }),
    { maxLength: 2, selector: ({ group_id: id }) => id },
  ),
  configs: fc.uniqueArray(config, { maxLength: 3, selector: ({ path }) => path }),
});

const node = fc.record({
  workspace: fc.constantFrom(...workspaces),
  id: fc.constantFrom('my-node', 'n1'),
  path: fc
    .array(fc.constantFrom('a', 'b', 'ab', 'users', 'me', 'x'), { minLength: 1, maxLength: 4 })
    .map((parts) => `/${parts.join('/')}`),
  nodeType: fc.constantFrom(...types),
  createdBy: fc.constantFrom('me', 'you', 'anonymous'),
  properties: fc.constantFrom<JsonObject>({}, { status: 'draft' }, { status: 'live', title: 'x' }),
});

/** The policy of a world, as the product compiles it. */
function compiled({
  branch,
  configs,
  groups,
  identity,
  isAnonymous,
  roles,
  through,
  user: stored,
}: PlainWorld) {
  const access = (properties: object, path: string, id = path) => ({
    id,
    path,
    properties: properties as JsonObject,
  });
  const records: AccessRecords = {
    roles: byId(
      roles.map((each, index) => {
        const path = `/roles/${index}`;
        return [path, atOnce(roleOf(access(each, path), compileForTest)) as Role] as const;
      }),
    ),
    groups: byId(
      groups.map((each, index) => {
        const path = `/groups/${index}`;
        return [path, groupOf(access(each, path)) as NonNullable<ReturnType<typeof groupOf>>] as const;
      }),
    ),
    configs: configs
      .map((each) => securityConfigOf(access(each, each.path)))
      .filter((each) => each !== undefined),
  };
  const read = stored && userOf(access(stored, stored.path, stored.id));
  const grants = isAnonymous
    ? grantsOfAnonymous(read, records, through as Interface)
    : grantsOfUser(identity, read, records);
  return new RolePolicy(grants, branch, { administers: false, locks: false });
}

/** Whether a write of some properties is accepted. */
function accepts(
  policy: RolePolicy,
  operation: 'create' | 'update',
  subject: Subject,
  changed: string[],
): boolean {
  try {
    authorizeFields(policy, operation, subject, changed);
    return true;
  } catch {
    return false;
  }
}

describe('RolePolicy', () => {
  it('decides as the rules say, one by one and in scans', () => {
    const view = new RecordView();
    const seen = { yes: 0, no: 0, filtered: 0 };
    fc.assert(
      fc.property(world, fc.array(node, { minLength: 1, maxLength: 12 }), (drawn, nodes) => {
        const plain: PlainWorld = { ...drawn, identity: drawn.isAnonymous ? 'anonymous' : drawn.identity };
        const policy = compiled(plain);
        for (const { workspace, properties, ...columns } of nodes) {
          const record = makeNodeRecord({ ...plainHeader, ...columns, name: 'x' }, properties);
          const { path, nodeType } = columns;
          const subject: Subject = { workspace, path, nodeType, node: record };
          const decided = (operation: Operation) => decidePlainly(plain, operation, subject);
          for (const operation of everyOperation) {
            const { isPermitted } = decided(operation);
            expect([operation, path, policy.allows(operation, subject)]).toEqual([
              operation,
              path,
              isPermitted,
            ]);
            seen[isPermitted ? 'yes' : 'no'] += 1;
          }
          for (const operation of ['read', 'create', 'update', 'translate'] as const) {
            const fields = policy.fields(operation, subject);
            const { shows } = decided(operation);
            const shown = names.filter((name) => fields.has(name));
            expect([operation, path, shown]).toEqual([operation, path, names.filter(shows)]);
            if (shown.length > 0 && shown.length < names.length) seen.filtered += 1;
          }
          for (const name of names) {
            expect(accepts(policy, 'create', subject, [name])).toBe(decided('create').shows(name));
            const mayChange = decided('update').shows(name) && decided('read').shows(name);
            expect(accepts(policy, 'update', subject, ['title', name])).toBe(
              mayChange && accepts(policy, 'update', subject, ['title']),
            );
          }
          const scope = policy.readScope(workspace);
          const { isPermitted, shows } = decided('read');
          view.point(record.bytes, record.bytes.length);
          expect(scopeFilter(scope)?.(view) ?? true).toBe(isPermitted);
          expect(isInScope(scope, record)).toBe(isPermitted);
          if (isPermitted)
            expect(names.filter((name) => scope.fields?.(record)?.has(name) ?? true)).toEqual(
              names.filter(shows),
            );
          if (Object.values(policy.needs('read', workspace)).every((isNeeded) => !isNeeded))
            expect(policy.allows('read', { workspace, path, nodeType })).toBe(isPermitted);
        }
      }),
      { numRuns: workloadCount(4_000) },
    );
    // What is drawn is neither all hidden nor all open.
    expect(Math.min(seen.yes / seen.no, seen.no / seen.yes)).toBeGreaterThan(0.05);
    expect(seen.filtered).toBeGreaterThan(100);
  });
});
