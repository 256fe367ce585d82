import fc from 'fast-check';
import type {
  AccessChangeStatement,
  AccessReadStatement,
  AlterGroupStatement,
  AlterRoleStatement,
  AlterUserStatement,
  GrantNode,
  SecuritySetting,
} from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import { arbitraryName, arbitraryNumber, arbitraryText, arbitraryValue, perhaps } from './arbitrary-given.ts';

type AccessStatement = AccessChangeStatement | AccessReadStatement;

const span = { start: 0, end: 0 };
const place = fc.constant(span);
const names = fc.array(arbitraryText, { minLength: 1, maxLength: 3 });
const perhapsNames = fc.array(arbitraryText, { maxLength: 2 });
/** Names of fields are never parameters. */
const fields = fc.array(
  fc
    .constantFrom('title', 'a.b', 'where', 'order', "it's")
    .map((value): GivenText => ({ kind: 'literal', type: 'text', value, span })),
  { minLength: 1, maxLength: 3 },
);
const condition = fc.constantFrom(
  'node.open == true',
  '!(a && b) || c != "x, y"',
  "node.tags.contains('a)')",
  '[1, 2] == node.list',
  'auth.local_user_id RELATES node.id VIA [\'A\', "B"] DEPTH 1..2',
  '{a: 1}.a > -2 % 3',
  '"; DROP" == \'--\'',
);

const grant: fc.Arbitrary<GrantNode> = fc.record({
  operations: fc.array(
    fc.constantFrom('create', 'read', 'update', 'delete', 'translate', 'relate', 'unrelate'),
    { minLength: 1, maxLength: 3 },
  ),
  workspace: perhaps(arbitraryText),
  path: arbitraryText,
  branch: perhaps(arbitraryText),
  nodeTypes: perhaps(names),
  fields: perhaps(fields),
  exceptFields: perhaps(fields),
  condition: perhaps(condition),
  span: place,
});

const roleChange = fc.oneof<fc.Arbitrary<AlterRoleStatement['change']>[]>(
  fc.record({ kind: fc.constant('add-permission' as const), grant }),
  fc.record({ kind: fc.constant('drop-permission' as const), number: arbitraryNumber }),
  fc.record({ kind: fc.constantFrom('add-inherits' as const, 'drop-inherits' as const), roles: names }),
  fc.record({ kind: fc.constant('set-description' as const), text: arbitraryText }),
);
const groupChange = fc.oneof<fc.Arbitrary<AlterGroupStatement['change']>[]>(
  fc.record({ kind: fc.constantFrom('add-roles' as const, 'drop-roles' as const), roles: names }),
  fc.record({ kind: fc.constant('set-description' as const), text: arbitraryText }),
);
const userChange = fc.oneof<fc.Arbitrary<AlterUserStatement['change']>[]>(
  fc.record({
    kind: fc.constantFrom('add' as const, 'drop' as const),
    what: fc.constantFrom('roles' as const, 'groups' as const),
    names: names,
  }),
  fc.record({
    kind: fc.constant('set' as const),
    field: fc.constantFrom(
      'email' as const,
      'display-name' as const,
      'can-login' as const,
      'birth-date' as const,
    ),
    value: arbitraryValue,
  }),
);
const setting = fc.oneof<fc.Arbitrary<SecuritySetting>[]>(
  fc.record({ kind: fc.constant('default-policy' as const), policy: arbitraryText }),
  fc.record({ kind: fc.constant('anonymous-enabled' as const), isEnabled: fc.boolean() }),
  fc.record({ kind: fc.constant('anonymous-role' as const), role: arbitraryText }),
  fc.record({
    kind: fc.constant('interface' as const),
    name: arbitraryName,
    key: fc.oneof(arbitraryName, fc.constantFrom('anonymous_enabled', 'anonymous')),
    value: arbitraryValue,
  }),
);

const target = fc.constantFrom('role' as const, 'group' as const, 'user' as const);

/** Any statement of access. */
export const arbitraryAccessStatement: fc.Arbitrary<AccessStatement> = fc.oneof<
  fc.Arbitrary<AccessStatement>[]
>(
  fc.record({
    kind: fc.constant('create-role' as const),
    name: arbitraryText,
    description: perhaps(arbitraryText),
    inherits: perhapsNames,
    permissions: fc.array(grant, { maxLength: 3 }),
    span: place,
  }),
  fc.record({
    kind: fc.constant('alter-role' as const),
    name: arbitraryText,
    change: roleChange,
    span: place,
  }),
  fc.record({
    kind: fc.constant('create-group' as const),
    name: arbitraryText,
    description: perhaps(arbitraryText),
    roles: perhapsNames,
    span: place,
  }),
  fc.record({
    kind: fc.constant('alter-group' as const),
    name: arbitraryText,
    change: groupChange,
    span: place,
  }),
  fc.record({
    kind: fc.constant('create-user' as const),
    name: arbitraryText,
    email: perhaps(arbitraryText),
    displayName: perhaps(arbitraryText),
    roles: perhapsNames,
    groups: perhapsNames,
    canLogin: perhaps(fc.boolean()),
    birthDate: perhaps(arbitraryText),
    folder: perhaps(arbitraryText),
    span: place,
  }),
  fc.record({
    kind: fc.constant('alter-user' as const),
    name: arbitraryText,
    change: userChange,
    span: place,
  }),
  fc.record({
    kind: fc.constant('drop-access' as const),
    target,
    name: arbitraryText,
    ifExists: fc.boolean(),
    span: place,
  }),
  fc.record({ kind: fc.constant('describe-access' as const), target, name: arbitraryText, span: place }),
  fc
    .record({
      target,
      like: perhaps(arbitraryText),
      inGroup: perhaps(arbitraryText),
      withRole: perhaps(arbitraryText),
    })
    .map((shown): AccessStatement => {
      const none = { inGroup: undefined, withRole: undefined };
      return { kind: 'show-access', ...shown, ...(shown.target === 'user' ? {} : none), span };
    }),
  fc.record({
    kind: fc.constantFrom('grant' as const, 'revoke' as const),
    what: fc.constantFrom('role' as const, 'group' as const),
    names: names,
    to: fc.constantFrom('user' as const, 'group' as const),
    name: arbitraryText,
    span: place,
  }),
  fc.record({
    kind: fc.constant('alter-security' as const),
    pattern: arbitraryText,
    settings: fc.array(setting, { minLength: 1, maxLength: 4 }),
    span: place,
  }),
  fc.record({ kind: fc.constant('show-security' as const), workspace: perhaps(arbitraryText), span: place }),
  fc.record({
    kind: fc.constant('show-permissions' as const),
    user: arbitraryText,
    workspace: perhaps(arbitraryText),
    span: place,
  }),
  fc.record({ kind: fc.constant('show-effective-roles' as const), user: arbitraryText, span: place }),
);
