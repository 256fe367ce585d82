import { Buffer } from 'node:buffer';
import { DecisionWork } from '#runtime/access/decision-work.ts';
import { allFields, type FieldFilter, noFields } from '#runtime/access/field-filter.ts';
import {
  authorize,
  authorizeBelow,
  authorizeFields,
  isInScope,
  type Operation,
  type Policy,
  type ReadScope,
  type SettingOperation,
  type Subject,
} from '#runtime/access/policy.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Moment } from '#runtime/scan/moment.ts';
import { PASSING_BYTES_MAX, type ScanRequest, type ScanRow, scan } from '#runtime/scan/scan.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { RelationMark } from '#runtime/tree/shown-relations.ts';
import type { NodePlace } from '../read-messages.ts';
import { RelationSearch } from './relation-search.ts';
import { type ShownNode, shownNode } from './shown-node.ts';
import { type AskingMeans, PeekedNode, StoredNode } from './stored-node.ts';

/**
 * What one caller may do with the nodes of the branch: every operation and every read asks here. The policy decides; this
 * gives it what it needs to know of a stored node.
 *
 * A caller who may read everything in a workspace costs nothing there: no node is looked at.
 *
 * @see docs/interface/permissions.md
 */
export class NodeAccess {
  readonly policy: Policy;
  readonly #asking: AskingMeans;

  /** @param reader has the relations that conditions ask for */
  constructor(context: Pick<QueryContext, 'caller' | 'budget'>, reader: TableReader) {
    this.policy = context.caller.policy;
    const work = new DecisionWork((nanoseconds) => context.budget.spend(nanoseconds));
    const search = new RelationSearch(reader, (nanoseconds) => work.takeTime(nanoseconds));
    this.#asking = { search, work };
  }

  /** What may be read of a workspace. */
  scope(workspace: string): ReadScope {
    return this.policy.readScope(workspace);
  }

  /** Whether every node of a workspace may be read. */
  readsAll(workspace: string): boolean {
    return this.scope(workspace).isAll;
  }

  /** What the relations of a node are marked by in its entity tag, which must not tell of relations to hidden nodes. */
  marked(record: Pick<NodeRecord, 'hasRelations' | 'header'>): RelationMark {
    if (this.policy.unrestricted || !record.hasRelations) return 'hidden';
    return record.header.relations.every(({ workspace }) => this.readsAll(workspace)) ? 'hidden' : 'shown';
  }

  /** Whether a node may be read. */
  mayRead(workspace: string, record: NodeRecord): boolean {
    return this.readsAll(workspace) || this.allows('read', workspace, record);
  }

  /** As {@link mayRead}, at the price of a row in place. @returns undefined where that does not tell */
  mayReadInPlace(workspace: string, record: NodeRecord): boolean | undefined {
    return isInScope(this.scope(workspace), new PeekedNode(workspace, record, this.#asking));
  }

  /** Whether an operation is permitted on a node of which only path and type are known, see {@link decidesByPlace}. */
  allowsAt(operation: Operation, workspace: string, path: string, nodeType: string): boolean {
    const { work } = this.#asking;
    return this.policy.unrestricted || this.policy.allows(operation, { workspace, path, nodeType, work });
  }

  /**
   * As {@link authorize}, for a node of which only path and type are known.
   *
   * @throws {ServiceError} as {@link authorize}
   */
  authorizeAt(operation: Operation, workspace: string, path: string, nodeType: string): void {
    const { work } = this.#asking;
    this.together(() => authorize(this.policy, operation, { workspace, path, nodeType, work }));
  }

  /**
   * Whether an operation is permitted on a node.
   *
   * @param path where the node is looked at; absent: where it is stored
   */
  allows(operation: Operation, workspace: string, record: NodeRecord, path?: string): boolean {
    return this.policy.unrestricted || this.policy.allows(operation, this.#subject(workspace, record, path));
  }

  /** The properties that are shown of a node that may be read. */
  shownFields(workspace: string, record: NodeRecord): FieldFilter {
    return this.scope(workspace).fields === undefined ? allFields : this.fields('read', workspace, record);
  }

  /** As {@link shownFields}, at the price of a row in place. @returns undefined where that does not tell */
  shownInPlace(workspace: string, record: NodeRecord): FieldFilter | undefined {
    const { fields } = this.scope(workspace);
    return fields === undefined ? allFields : fields(new PeekedNode(workspace, record, this.#asking));
  }

  /** The properties of a node that are shown to the caller, or that the caller may set. */
  fields(
    operation: 'read' | SettingOperation,
    workspace: string,
    record: NodeRecord,
    path?: string,
  ): FieldFilter {
    if (this.policy.unrestricted) return allFields;
    return this.policy.fields(operation, this.#subject(workspace, record, path));
  }

  /**
   * Asks several questions about one node between which nothing pauses: they may take the work of one decision together.
   *
   * @param ask runs at once
   */
  together<T>(ask: () => T): T {
    return this.#asking.work.together(ask);
  }

  /** A node as the caller sees it, who may read it. Yields where the work may pause. */
  *shown(workspace: string, record: NodeRecord): Generator<undefined, ShownNode> {
    return yield* shownNode(record, this.shownFields(workspace, record));
  }

  /** As {@link shown}, for a caller who need not be able to read the node: then no property is shown. */
  *shownIfReadable(workspace: string, record: NodeRecord): Generator<undefined, ShownNode> {
    const filter = this.together(() =>
      this.mayRead(workspace, record) ? this.shownFields(workspace, record) : noFields,
    );
    return yield* shownNode(record, filter);
  }

  /**
   * As `authorize`.
   *
   * @param named how the caller named the node; default: by its path
   * @throws {ServiceError} `NODE_NOT_FOUND`, `PERMISSION_DENIED`
   */
  authorize(
    operation: Operation,
    workspace: string,
    record: NodeRecord,
    named?: NodePlace,
    path?: string,
  ): void {
    if (this.policy.unrestricted) return;
    const subject = this.#subject(workspace, record, path);
    this.together(() => authorize(this.policy, operation, subject, named ?? { path: subject.path }));
  }

  /**
   * Throws when an operation is not permitted on a node at the path to which it goes.
   *
   * @throws {ServiceError} `PERMISSION_DENIED`
   */
  authorizeThere(operation: Operation, workspace: string, record: NodeRecord, path: string): void {
    const isPermitted = this.together(
      () => this.allows('read', workspace, record, path) && this.allows(operation, workspace, record, path),
    );
    if (isPermitted) return;
    throw new ServiceError('PERMISSION_DENIED', `Permission denied: cannot ${operation} node ${path}`);
  }

  /** As `authorizeBelow`. @throws {ServiceError} `PERMISSION_DENIED` */
  authorizeBelow(
    operation: Operation,
    workspace: string,
    record: NodeRecord,
    top: string,
    path?: string,
  ): void {
    if (this.policy.unrestricted) return;
    const subject = this.#subject(workspace, record, path);
    this.together(() => authorizeBelow(this.policy, operation, subject, top));
  }

  /** As `authorizeFields`. @throws {ServiceError} `PERMISSION_DENIED` */
  authorizeFields(
    operation: SettingOperation,
    workspace: string,
    record: NodeRecord,
    changed: Iterable<string>,
  ): void {
    if (this.policy.unrestricted) return;
    const subject = this.#subject(workspace, record);
    this.together(() => authorizeFields(this.policy, operation, subject, changed));
  }

  /**
   * Throws where lists of properties decide what may be set of a node. What is no property, as its owner, is in none of them, and
   * may decide what is permitted.
   *
   * @param what is set, for the message
   * @throws {ServiceError} `PERMISSION_DENIED`
   */
  authorizeBesideFields(
    operation: SettingOperation,
    workspace: string,
    record: NodeRecord,
    what: string,
  ): void {
    if (this.fields(operation, workspace, record).isAll) return;
    throw new ServiceError(
      'PERMISSION_DENIED',
      `Permission denied: cannot ${operation} the ${what} of node ${record.path}`,
    );
  }

  /**
   * Throws when some property of a node is hidden from the caller or may not be changed, whether the node has it or not.
   *
   * @throws {ServiceError} `PERMISSION_DENIED`
   */
  authorizeAllFields(operation: SettingOperation, workspace: string, record: NodeRecord): void {
    const isAll = this.together(
      () => this.fields(operation, workspace, record).isAll && this.shownFields(workspace, record).isAll,
    );
    if (isAll) return;
    throw new ServiceError(
      'PERMISSION_DENIED',
      `Permission denied: cannot ${operation} every property of node ${record.path}`,
    );
  }

  /**
   * Throws when a node would show more of its properties to the caller at another path.
   *
   * @throws {ServiceError} `PERMISSION_DENIED`
   */
  authorizePath(workspace: string, record: NodeRecord, path: string): void {
    if (this.scope(workspace).fields === undefined) return;
    const isWithin = this.together(() =>
      this.fields('read', workspace, record, path).isWithin(this.shownFields(workspace, record)),
    );
    if (isWithin) return;
    throw new ServiceError(
      'PERMISSION_DENIED',
      `Permission denied: cannot move node ${record.path} to ${path}, where more of its properties would be shown`,
    );
  }

  /** Whether path and type alone decide about an operation in a workspace. */
  decidesByPlace(operation: Operation, workspace: string): boolean {
    const { columns, properties, relations } = this.policy.needs(operation, workspace);
    return !columns && !properties && !relations;
  }

  /**
   * The nodes of a source that may be read, in its order, as `scan`. Where a row in place does not tell, the node is asked
   * about again.
   */
  *rows(
    moment: Moment,
    request: Omit<ScanRequest, 'scope'>,
  ): Generator<ScanRow | undefined, string | undefined> {
    const { workspace } = request.source;
    const scope = this.scope(workspace);
    const { allows } = scope;
    if (allows === undefined) return yield* scan(moment, { ...request, scope });
    // From the first row on that did not tell, each node is asked about again: which of them did not is not known here.
    let isOpen = false;
    const noting: ReadScope = {
      ...scope,
      allows: (node) => {
        const holds = allows(node);
        if (holds === undefined) isOpen = true;
        return holds;
      },
    };
    const rows = scan(moment, { ...request, scope: noting });
    for (let step = rows.next(); ; step = rows.next()) {
      if (step.done === true) return step.value;
      const row = step.value;
      if (row === undefined || !isOpen) {
        yield row;
        continue;
      }
      const kept = keptRow(row);
      yield this.allows('read', workspace, kept.record) ? kept : undefined;
    }
  }

  /** Whether a node has children that the caller may read. Yields where the work may pause. */
  *hasChildren(moment: Moment, workspace: string, id: string): Generator<undefined, boolean> {
    if (!moment.tree.hasChildren(workspace, id)) return false;
    if (this.readsAll(workspace)) return true;
    const source = { kind: 'children', workspace, parentId: id } as const;
    for (const row of this.rows(moment, { source })) {
      if (row !== undefined) return true;
      yield undefined;
    }
    return false;
  }

  #subject(workspace: string, record: NodeRecord, path?: string): Subject {
    const node = new StoredNode(workspace, record, this.#asking, path);
    return { workspace, path: node.path, nodeType: node.nodeType, node };
  }
}

/** Whether every node of a workspace may be read with all its properties, so that nothing has to be looked at. */
export function readsWhole(policy: Policy, workspace: string): boolean {
  if (policy.unrestricted) return true;
  const { fields, isAll } = policy.readScope(workspace);
  return isAll && fields === undefined;
}

/** A row that stays as it is when something else is read, see `ScanRequest.isPassing`. */
function keptRow(row: ScanRow): ScanRow {
  const { bytes } = row.record;
  if (bytes.length >= PASSING_BYTES_MAX) return row;
  return { ...row, record: new NodeRecord(Buffer.from(bytes.subarray(0, bytes.length))) };
}
