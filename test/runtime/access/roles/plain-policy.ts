import type { Operation, Subject } from '#runtime/access/policy.ts';
import type { RuleCaller } from '#runtime/access/roles/rule-caller.ts';
import { conditionTexts, holdsPlainly } from './test-conditions.ts';
import { matchesName, matchesPath, specificityOf } from './plain-globs.ts';

/**
 * What a caller may do, decided as plainly as the rules are written, each question from the stored values. It shares no
 * code with what it is compared with.
 *
 * @see docs/interface/permissions.md
 */
export interface PlainWorld {
  readonly identity: string;
  readonly isAnonymous: boolean;
  readonly through: string;
  readonly branch: string;
  readonly user: (Stored & { readonly id: string; readonly path: string }) | undefined;
  readonly roles: readonly Stored[];
  readonly groups: readonly Stored[];
  readonly configs: readonly (Stored & { readonly path: string })[];
}

type Stored = Readonly<Record<string, unknown>>;

/** One way a node may be seen or written. */
interface Decision {
  readonly isPermitted: boolean;
  readonly shows: (name: string) => boolean;
}

const nothing: Decision = { isPermitted: false, shows: () => false };
const everything: Decision = { isPermitted: true, shows: () => true };

/** Decides one question. */
export function decidePlainly(world: PlainWorld, operation: Operation, subject: Subject): Decision {
  const { isAnonymous, user } = world;
  if (user === undefined && !isAnonymous) return nothing;
  if (user !== undefined && !isActive(user)) return nothing;
  const roles = effectiveRoles(world);
  if (roles.includes('system_admin') && !isAnonymous) return everything;
  const caller: RuleCaller = {
    userId: world.identity,
    localUserId: user?.id ?? null,
    email: null,
    isAnonymous,
    isSystem: false,
    roles,
    groups: [],
    home: user?.path ?? null,
    actingAsWard: null,
    activeStewardshipSource: null,
  };
  const entries = roles.flatMap((id) => permissionsOf(world, id)).concat(added(world, subject.workspace));
  const candidates = entries
    .filter((entry) => isGrant(entry))
    .filter((entry) => operationsOf(entry).includes(operation))
    .filter((entry) => matchesName(textOf(entry.workspace), subject.workspace))
    .filter((entry) => matchesName(textOf(entry.branch), world.branch))
    .filter((entry) => matchesName(textOf(entry.branch_pattern), world.branch))
    .filter((entry) => matchesPath(entry.path as string, subject.path))
    .filter((entry) => hasType(entry, subject.nodeType));
  const order = [...candidates.entries()].sort(
    ([a, first], [b, second]) =>
      specificityOf(second.path as string) - specificityOf(first.path as string) || a - b,
  );
  for (const [, entry] of order)
    if (holds(entry, caller, subject)) return { isPermitted: true, shows: (name) => showsField(entry, name) };
  return nothing;
}

function isActive({ can_login: canLogin, status }: Stored): boolean {
  return (
    [undefined, null, 'active'].includes(status as string) &&
    [undefined, null, true].includes(canLogin as true)
  );
}

function effectiveRoles({ groups, isAnonymous, roles, user }: PlainWorld): string[] {
  const named = user === undefined && isAnonymous ? ['anonymous'] : idsOf(user?.roles, '/roles/');
  for (const id of idsOf(user?.groups, '/groups/'))
    named.push(...idsOf(groups.find((each) => each.group_id === id)?.roles, '/roles/'));
  return withInherited(roles, named);
}

function withInherited(roles: readonly Stored[], named: readonly string[]): string[] {
  const found: string[] = [];
  const waiting = [...named];
  while (waiting.length > 0) {
    const id = waiting.shift() as string;
    const role = roles.find((each) => each.role_id === id);
    if (role === undefined || found.includes(id)) continue;
    found.push(id);
    waiting.push(...idsOf(role.inherits, '/roles/'));
  }
  return found;
}

function permissionsOf({ roles }: PlainWorld, id: string): Stored[] {
  return roles.find((each) => each.role_id === id)?.permissions as Stored[];
}

/** Permissions by the settings of a workspace. */
function added(world: PlainWorld, workspace: string): Stored[] {
  const isExact = ({ workspace: text }: Stored): boolean => text === workspace;
  const length = ({ workspace: text }: Stored): number => (text as string).replaceAll('*', '').length;
  const [config] = world.configs
    .filter(({ workspace: text }) => matchesName(text as string, workspace))
    .sort((a, b) => {
      if (isExact(a) !== isExact(b)) return isExact(a) ? -1 : 1;
      if (length(a) !== length(b)) return length(b) - length(a);
      return a.path < b.path ? -1 : 1;
    });
  if (config === undefined) return [];
  if (!world.isAnonymous)
    return config.default_policy === 'allow' ? [{ path: '', operations: ['read'] }] : [];
  const byInterface = (config.interfaces as Record<string, { anonymous_enabled?: boolean }> | undefined)?.[
    world.through
  ];
  const isEnabled = byInterface?.anonymous_enabled ?? config.anonymous_enabled;
  if (isEnabled !== true) return [];
  return withInherited(world.roles, idsOf([config.anonymous_role], '/roles/')).flatMap((id) =>
    permissionsOf(world, id),
  );
}

function idsOf(list: unknown, folder: string): string[] {
  if (!Array.isArray(list)) return [];
  return list
    .filter((each): each is string => typeof each === 'string')
    .map((id) => (id.startsWith(folder) ? id.slice(folder.length) : id));
}

/** Whether everything in an entry that may restrict it is understood. */
function isGrant(entry: Stored): boolean {
  const { conditions, node_types: types, path } = entry;
  if (typeof path !== 'string') return false;
  if (types !== undefined && !Array.isArray(types)) return false;
  if (conditions !== undefined) return false;
  return !('typo' in entry);
}

function operationsOf({ operations }: Stored): string[] {
  return (operations as unknown[]).map((word) => String(word).toLowerCase());
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function hasType({ node_types: types }: Stored, nodeType: string): boolean {
  return !Array.isArray(types) || types.length === 0 || types.includes(nodeType);
}

function holds({ condition }: Stored, caller: RuleCaller, { node, workspace }: Subject): boolean {
  if (condition === undefined) return true;
  if (typeof condition !== 'string' || !conditionTexts.includes(condition)) return false;
  return node !== undefined && holdsPlainly(condition, caller, workspace, node);
}

function showsField({ except_fields: hidden, fields }: Stored, name: string): boolean {
  if (fields !== undefined) return Array.isArray(fields) && fields.includes(name);
  return hidden === undefined || (Array.isArray(hidden) && !hidden.includes(name));
}
