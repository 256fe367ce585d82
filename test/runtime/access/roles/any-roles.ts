import fc from 'fast-check';
import { everyOperation } from './access-fixture.ts';
import { conditionTexts } from './test-conditions.ts';

/** Ids of roles. */
export const roleNames = ['anonymous', 'reader', 'editor', 'guest', 'system_admin', 'constructor'];
/** Ids of groups. */
export const groupNames = ['press', 'staff'];
/** Types of nodes. */
export const types = ['t:A', 't:B', 't:C'];
/** Names of properties. */
export const names = ['title', 'secret', 'status', '__proto__'];

const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
/** A list of ids, some with their folder, some of nothing. @param folder `/roles/` */
export const named = (ids: readonly string[], folder: string) =>
  fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...ids) },
      { weight: 1, arbitrary: fc.constantFrom(...ids).map((id) => folder + id) },
      { weight: 1, arbitrary: fc.constantFrom('none', '__proto__', 5, null) },
    ),
    { maxLength: 3 },
  );

const pathPattern = fc
  .array(fc.constantFrom('a', 'b', 'users', 'me', '*', '**', 'a*', '?', '**b'), { maxLength: 3 })
  .map((parts) => `/${parts.join('/')}`);
const field = fc.oneof(
  { weight: 5, arbitrary: fc.array(fc.constantFrom(...names), { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom('title', 5, {}) },
);
const operation = fc.constantFrom(...everyOperation, 'read', 'READ', 'Update', 'fly');

const permission = fc
  .record({
    path: fc.oneof(
      { weight: 12, arbitrary: pathPattern },
      { weight: 1, arbitrary: fc.constantFrom(undefined, 5) },
    ),
    operations: fc.array(operation, { minLength: 1, maxLength: 4 }),
    workspace: some(fc.constantFrom('*', '', 'content', 'content*', 'svc:*', '[x', 'other')),
    branch: some(fc.constantFrom('*', 'main', 'feature/*')),
    branch_pattern: some(fc.constantFrom('', 'main', '*x', '{main')),
    node_types: some(
      fc.oneof(
        { weight: 6, arbitrary: fc.array(fc.constantFrom(...types), { maxLength: 2 }) },
        { weight: 1, arbitrary: fc.constantFrom('t:A', {}) },
      ),
    ),
    fields: some(field),
    except_fields: some(field),
    condition: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 5, arbitrary: fc.constantFrom<unknown>(...conditionTexts) },
      { weight: 1, arbitrary: fc.constantFrom<unknown>('unheard', '', true) },
    ),
    conditions: fc.oneof(
      { weight: 15, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom<unknown>({ owner: 'x' }, [1], 'x') },
    ),
    typo: fc.oneof(
      { weight: 15, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom<unknown>(1) },
    ),
  })
  .map(withoutUndefined);

/** The properties of a role. */
export const role = fc.record({
  role_id: fc.constantFrom(...roleNames),
  inherits: named(roleNames, '/roles/'),
  // With many of them a node is compared only with those of its path.
  permissions: fc.oneof(
    { weight: 5, arbitrary: fc.array(permission, { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(permission, { minLength: 12, maxLength: 30 }) },
  ),
});

/** The properties of settings, with their path. */
export const config = fc.record({
  path: fc.constantFrom('/config/a', '/config/b', '/config/c'),
  workspace: fc.constantFrom('*', 'content', 'content*', 'svc:*'),
  default_policy: fc.constantFrom('allow', 'deny'),
  anonymous_enabled: fc.boolean(),
  anonymous_role: fc.constantFrom(...roleNames, '/roles/guest', 'none'),
  interfaces: fc.constantFrom(
    {},
    { rest: { anonymous_enabled: true } },
    { rest: { anonymous_enabled: false } },
  ),
});

/** The properties of a user, with id and path. */
export const user = fc
  .record({
    id: fc.constant('my-node'),
    path: fc.constantFrom('/users/me', '/a'),
    status: fc.oneof(
      { weight: 10, arbitrary: fc.constantFrom('active', undefined) },
      { weight: 1, arbitrary: fc.constant('inactive') },
    ),
    can_login: fc.oneof(
      { weight: 10, arbitrary: fc.constantFrom(true, undefined) },
      { weight: 1, arbitrary: fc.constant(false) },
    ),
    roles: named(roleNames, '/roles/'),
    groups: named(groupNames, '/groups/'),
  })
  .map((each) => withoutUndefined(each) as typeof each);

/** Removes what is absent: an absent key and one without a value are the same in JSON. */
function withoutUndefined<T extends object>(object: T): Partial<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Partial<T>;
}
