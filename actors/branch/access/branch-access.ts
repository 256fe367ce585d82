import type { Granted, GrantedPrincipal } from '#runtime/access/roles/granted.ts';
import {
  type AccessNode,
  groupOf,
  isAnonymousEnabled,
  type Role,
  roleOf,
  type SecurityConfig,
  securityConfigOf,
  type User,
  userOf,
} from '#runtime/access/roles/access-nodes.ts';
import { spellingsOf } from '#runtime/access/identity/email-address.ts';
import { compileRule } from '#runtime/access/roles/compile-rule.ts';
import {
  type AccessRecords,
  byId,
  type Grants,
  grantsOfAnonymous,
  grantsOfUser,
} from '#runtime/access/roles/grants.ts';
import { wholeScope } from '#runtime/access/policy.ts';
import { type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { scan, type ScanSource } from '#runtime/scan/scan.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { accessStamp } from '#runtime/tree/access-stamp.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { ACCESS_WORKSPACE, isAmongUsers, USER_TYPE } from './user-places.ts';

const SYSTEM_WORKSPACE = 'svc:system';

const ANONYMOUS_USER = '/users/system/anonymous';

/** Nodes of one type that count. Further ones have no effect. */
const RECORDS_MAX = 10_000;

/** Callers whose grants are kept. */
const CALLERS_MAX = 10_000;

/** A node of a user, with the identity that it belongs to. */
interface FoundUser {
  readonly user: User;
  readonly identity: string;
}

/** Everything that was read at one {@link accessStamp}. */
interface Known {
  readonly stamp: string;
  readonly records: AccessRecords;
  readonly anonymousUser: User | undefined;
  /** The repository's setting for anonymous callers. */
  readonly anonymousEnabled: JsonValue | undefined;
  readonly granted: Map<string, Granted>;
  /** The same by caller: the callers of a token or an account share one object, whose key need not be made again. */
  readonly byCaller: WeakMap<GrantedPrincipal, Granted>;
}

/** Anonymous callers where they have no access. */
const hidden: Granted = Object.freeze({ grants: undefined });

/**
 * The roles, groups, users and settings of a repository, which are content of its branch `main`, and what callers may do
 * because of them. It is read when somebody asks, and again after one of these nodes has changed, see
 * {@link accessStamp}: a role that was taken away does not count for any later request.
 *
 * The first question costs time in proportion to the roles and groups of the repository, the first of a caller some
 * look-ups, a later one a look-up in a map.
 *
 * @see docs/interface/permissions.md
 */
export class BranchAccess {
  readonly #repository: string;
  #known: Known | undefined;
  #generation = Number.NaN;

  /** @param repository its name */
  constructor(repository: string) {
    this.#repository = repository;
  }

  /**
   * What a caller may do.
   *
   * @param reader the present state of the branch; it may change while the generator is not running
   * @returns a generator where something has to be read first; it yields where the work may pause
   * @throws {ServiceError} `USER_NODE_NOT_FOUND`
   */
  granted(reader: TableReader, principal: GrantedPrincipal): Granted | Generator<undefined, Granted> {
    const known = this.#current(reader);
    if (known === undefined) return this.#find(reader, principal);
    return (
      known.byCaller.get(principal) ?? this.#remembered(known, principal) ?? this.#find(reader, principal)
    );
  }

  #remembered(known: Known, principal: GrantedPrincipal): Granted | undefined {
    const granted = known.granted.get(keyOf(principal));
    // Anonymous callers have an object each, and short keys.
    if (granted !== undefined && principal.kind !== 'anonymous') known.byCaller.set(principal, granted);
    return granted;
  }

  /** The record of the user node of an identity. Yields where the work may pause. */
  *userNode(reader: TableReader, identityId: string): Generator<undefined, NodeRecord | undefined> {
    return yield* userRecord(reader, identityId);
  }

  *#find(reader: TableReader, principal: GrantedPrincipal): Generator<undefined, Granted> {
    for (;;) {
      const known = this.#current(reader) ?? (yield* this.#read(reader));
      const granted = yield* this.#grantedBy(reader, known, principal);
      if (this.#current(reader) !== known) continue;
      if (known.granted.size >= CALLERS_MAX) known.granted.clear();
      known.granted.set(keyOf(principal), granted);
      return granted;
    }
  }

  *#grantedBy(reader: TableReader, known: Known, principal: GrantedPrincipal): Generator<undefined, Granted> {
    switch (principal.kind) {
      case 'anonymous':
        return anonymousGranted(known, principal.isEnabled);
      case 'identity': {
        const { identityId } = principal;
        const record = yield* userRecord(reader, identityId);
        const user = record === undefined ? undefined : userOf(yield* accessNode(record));
        return grantedTo(grantsOfUser(identityId, user, known.records));
      }
      case 'impersonating': {
        const { identity, user } = yield* namedUser(reader, principal.user);
        return grantedTo(grantsOfUser(identity, user, known.records));
      }
    }
  }

  /** What is known, unless something of it has changed. */
  #current(reader: TableReader): Known | undefined {
    const known = this.#known;
    if (known === undefined) return undefined;
    const { generation = Number.NaN } = reader;
    if (generation === this.#generation) return known;
    if (accessStamp(reader) !== known.stamp) {
      this.#known = undefined;
      return undefined;
    }
    this.#generation = generation;
    return known;
  }

  *#read(reader: TableReader): Generator<undefined, Known> {
    const stamp = accessStamp(reader);
    const roles: [string, Role][] = [];
    for (const record of yield* recordsOf(reader, 'svc:Role')) {
      const role = yield* roleOf(yield* accessNode(record), compileRule);
      if (role !== undefined) roles.push([record.path, role]);
    }
    const groups = yield* parsed(reader, 'svc:Group', groupOf);
    const configs = yield* parsed(reader, 'svc:SecurityConfig', securityConfigOf);
    const tree = new HeadNodeReader(reader);
    const anonymous = yield* tree.byPathInSteps(ACCESS_WORKSPACE, ANONYMOUS_USER);
    const settings = yield* tree.byPathInSteps(SYSTEM_WORKSPACE, `/config/repos/${this.#repository}`);
    const known: Known = {
      stamp,
      records: {
        roles: byId(roles),
        groups: byId(groups),
        configs: configs.map(([, config]): SecurityConfig => config),
      },
      anonymousUser: anonymous?.nodeType === 'svc:User' ? userOf(yield* accessNode(anonymous)) : undefined,
      anonymousEnabled:
        settings?.nodeType === 'svc:RepoAuthConfig'
          ? ownValue(yield* settings.decode(), 'anonymous_enabled')
          : undefined,
      granted: new Map(),
      byCaller: new WeakMap(),
    };
    // What has changed meanwhile is noticed by its stamp at the next look.
    this.#known = known;
    this.#generation = Number.NaN;
    return known;
  }
}

/** Distinguishes callers with different permissions. */
function keyOf(principal: GrantedPrincipal): string {
  switch (principal.kind) {
    case 'anonymous':
      return principal.isEnabled === true ? 'anonymous:enabled' : 'anonymous';
    case 'identity':
      return `identity:${principal.identityId}`;
    case 'impersonating':
      return `user:${principal.user}`;
  }
}

function anonymousGranted(known: Known, isEnabled: boolean | undefined): Granted {
  if (!isAnonymousEnabled(known.anonymousEnabled, isEnabled)) return hidden;
  return grantedTo(grantsOfAnonymous(known.anonymousUser, known.records, 'rest'));
}

function grantedTo(grants: Grants): Granted {
  return Object.freeze({ grants });
}

/** Nodes of a type, in path order. */
function* recordsOf(reader: TableReader, nodeType: string): Generator<undefined, readonly NodeRecord[]> {
  return yield* found(reader, { kind: 'paths', workspace: ACCESS_WORKSPACE, nodeType });
}

function* found(reader: TableReader, source: ScanSource): Generator<undefined, readonly NodeRecord[]> {
  const records: NodeRecord[] = [];
  for (const row of scan(new Moment(reader), { source, scope: wholeScope, limit: RECORDS_MAX })) {
    if (row === undefined) yield undefined;
    else records.push(row.record);
  }
  return records;
}

function* parsed<Parsed>(
  reader: TableReader,
  nodeType: string,
  parse: (node: AccessNode) => Parsed | undefined,
): Generator<undefined, [string, Parsed][]> {
  const all: [string, Parsed][] = [];
  for (const record of yield* recordsOf(reader, nodeType)) {
    const one = parse(yield* accessNode(record));
    if (one !== undefined) all.push([record.path, one]);
    yield;
  }
  return all;
}

function* accessNode(record: NodeRecord): Generator<undefined, AccessNode> {
  return { id: record.id, path: record.path, properties: yield* record.decode() };
}

/** The user node of an identity. Several with one identity are none: nobody knows whose permissions count. */
function* userRecord(reader: TableReader, identityId: string): Generator<undefined, NodeRecord | undefined> {
  const candidates = yield* found(reader, {
    kind: 'index',
    workspace: ACCESS_WORKSPACE,
    nodeType: 'svc:User',
    index: 'user_id',
    equal: [],
    where: [{ operator: 'eq', value: identityId }],
  });
  const users: NodeRecord[] = [];
  for (const record of candidates) {
    // The keys of long values are cut.
    if (!isAmongUsers(reader, record)) continue;
    if (ownValue(yield* record.decode(), 'user_id') === identityId) users.push(record);
  }
  return users.length === 1 ? users[0] : undefined;
}

/**
 * The user whom an administrator names.
 *
 * @param name id or path of the node, or address of the user
 * @throws {ServiceError} `USER_NODE_NOT_FOUND`
 */
function* namedUser(reader: TableReader, name: string): Generator<undefined, FoundUser> {
  const record = yield* recordNamed(reader, name);
  if (record === undefined || record.nodeType !== USER_TYPE || !isAmongUsers(reader, record))
    throw new ServiceError('USER_NODE_NOT_FOUND', 'X-Svc-Impersonate names no user of the repository');
  const node = yield* accessNode(record);
  const identity = ownValue(node.properties, 'user_id');
  return { user: userOf(node), identity: typeof identity === 'string' ? identity : node.id };
}

function* recordNamed(reader: TableReader, name: string): Generator<undefined, NodeRecord | undefined> {
  const tree = new HeadNodeReader(reader);
  if (name.startsWith('/')) return yield* tree.byPathInSteps(ACCESS_WORKSPACE, name);
  if (!name.includes('@')) return yield* tree.byIdInSteps(ACCESS_WORKSPACE, name);
  for (const value of spellingsOf(name)) {
    const [first] = yield* found(reader, {
      kind: 'unique',
      workspace: ACCESS_WORKSPACE,
      nodeType: 'svc:User',
      property: 'email',
      value,
    });
    if (first !== undefined) return first;
  }
  return undefined;
}
