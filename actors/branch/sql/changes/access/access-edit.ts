import { isId, strippedId } from '#runtime/access/roles/access-nodes.ts';
import { NAMES_MAX } from '#runtime/access/roles/permission.ts';
import { type JsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { givenText, givenValue } from '#runtime/sql-plan/given-values.ts';
import type { GivenText, GivenValue } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { AccessCatalog, type CatalogNode } from '../../../access/access-catalog.ts';
import { ACCESS_WORKSPACE } from '../../../access/user-places.ts';
import type { EditScope } from '../../../edit-scope.ts';
import { insertNode } from '../../../nodes/create-node.ts';
import { setProperties } from '../../../nodes/set-properties.ts';
import { accessNotFound } from '../../access-errors.ts';
import type { ChangeContext } from '../change-context.ts';

/** The type of folders of roles, groups, users and settings. */
export const ACCESS_FOLDER_TYPE = 'svc:AclFolder';

/** `status` of the user node of an account that was removed. */
const REMOVED = 'deleted';

/** Folders of ids, which may stand before them. */
const folders = { Role: '/roles/', Group: '/groups/' } as const;

/** What a statement of access reads and writes with. */
export class AccessEdit {
  readonly edit: EditScope;
  /** What is there, including what the same edit has written. */
  readonly catalog: AccessCatalog;
  readonly #change: ChangeContext;

  constructor(change: ChangeContext) {
    const { edit } = change;
    this.edit = edit;
    this.catalog = new AccessCatalog(edit.access, new Moment(edit.turn), edit.turn.budget);
    this.#change = change;
  }

  /** A text of the statement. @throws {ServiceError} `VALIDATION_FAILED` */
  text(given: GivenText): string {
    return givenText(given, this.#change.scope, this.#change.source);
  }

  /** A value of the statement. @throws {ServiceError} `VALIDATION_FAILED` */
  value(given: GivenValue): JsonValue {
    return givenValue(given, this.#change.scope, this.#change.source);
  }

  /** The error for a part of the statement. @returns `VALIDATION_FAILED` */
  error(text: string, span: Span): ServiceError {
    return sqlError(text, this.#change.source, span);
  }

  /**
   * An id of a role or group; `/roles/x` means `x`.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` for a text that is no id, so that the node would count for nothing
   */
  id(noun: keyof typeof folders, given: GivenText): string {
    const id = strippedId(this.text(given), folders[noun]);
    if (!isId(id)) throw this.error(`'${id}' cannot be the id of a ${noun.toLowerCase()}`, given.span);
    return id;
  }

  /** Ids of roles or groups, each once. @throws {ServiceError} as {@link id} */
  ids(noun: keyof typeof folders, given: readonly GivenText[]): readonly string[] {
    return [...new Set(given.map((each) => this.id(noun, each)))];
  }

  /**
   * Ids of roles or groups that exist: a name that nobody has yet would give something to somebody later.
   *
   * @throws {ServiceError} `NOT_FOUND`; as {@link id}
   */
  *existing(
    noun: keyof typeof folders,
    given: readonly GivenText[],
  ): Generator<undefined, readonly string[]> {
    const ids = this.ids(noun, given);
    for (const id of ids) {
      const found = yield* noun === 'Role' ? this.catalog.role(id) : this.catalog.group(id);
      if (found === undefined) throw accessNotFound(noun, id);
    }
    return ids;
  }

  /** The role or group that a statement names. @throws {ServiceError} `NOT_FOUND`; as {@link id} */
  *required(noun: keyof typeof folders, given: GivenText): Generator<undefined, CatalogNode> {
    const id = this.id(noun, given);
    const found = yield* noun === 'Role' ? this.catalog.role(id) : this.catalog.group(id);
    if (found === undefined) throw accessNotFound(noun, id);
    return found;
  }

  /** The user that a statement names. @throws {ServiceError} `NOT_FOUND`, `CONFLICT` when it may be several */
  *requiredUser(given: GivenText): Generator<undefined, CatalogNode> {
    const name = this.text(given);
    const found = yield* this.catalog.user(name);
    if (found === undefined) throw accessNotFound('User', name);
    return found;
  }

  /**
   * The user that a statement gives something to. A node of an account that was removed counts for nobody, and no other account
   * gets it: what is given to it would be given to nobody, though the statement says otherwise.
   *
   * @throws {ServiceError} `CONFLICT` for such a node; as {@link requiredUser}
   */
  *grantableUser(given: GivenText): Generator<undefined, CatalogNode> {
    const user = yield* this.requiredUser(given);
    if (ownValue(user.properties, 'status') === REMOVED)
      throw new ServiceError(
        'CONFLICT',
        `The account of user '${this.text(given)}' was removed: DROP USER frees the address for the next account with it`,
      );
    return user;
  }

  /** Makes a folder at the root of the workspace if it is missing. @throws {ServiceError} as `insertNode` */
  *ensureFolder(path: string): Generator<undefined, void> {
    if (this.edit.head.idAt(ACCESS_WORKSPACE, path) === undefined)
      yield* this.insert('/', path.slice(1), ACCESS_FOLDER_TYPE, {});
  }

  /** Creates a node. @throws {ServiceError} as `insertNode` */
  *insert(
    parentPath: string,
    name: string,
    nodeType: string,
    properties: JsonObject,
  ): Generator<undefined, void> {
    yield* insertNode(this.edit, ACCESS_WORKSPACE, parentPath, { name, nodeType, properties });
  }

  /** Sets properties of a node. @throws {ServiceError} as `setProperties`, and of the node as `requireNode` */
  *set({ id }: CatalogNode, properties: JsonObject): Generator<undefined, void> {
    const stored = yield* this.edit.requireNode(ACCESS_WORKSPACE, { id }, 'update');
    yield* setProperties(this.edit, ACCESS_WORKSPACE, stored, properties);
  }

  /**
   * Sets a list of a node. Nothing is written when it has the same entries.
   *
   * @throws {ServiceError} `VALIDATION_FAILED` for more entries than count
   */
  *setList(
    node: CatalogNode,
    property: string,
    before: readonly JsonValue[],
    after: readonly JsonValue[],
  ): Generator<undefined, void> {
    if (after.length === before.length && after.every((each, index) => each === before[index])) return;
    if (after.length > NAMES_MAX && after.length > before.length)
      throw invalid(`'${property}' of '${node.path}' may have at most ${NAMES_MAX} entries`);
    yield* this.set(node, { [property]: after });
  }
}
