import type { Operation } from '#runtime/access/policy.ts';
import { actorName } from '#runtime/access/principal.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { requireShortPath } from '#runtime/content/path.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import type { ResolvedSource } from '#runtime/content/resolution/schema-resolver.ts';
import { missingNodeType, type ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import type { Workspace } from '#runtime/content/definitions/workspace-definition.ts';
import { requireInstantiable } from '#runtime/content/validation/validate-node.ts';
import { commitTooLarge, invalid, nodeNotFound } from '#runtime/errors/service-error.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { nodesOfType } from '#runtime/scan/nodes-of-type.ts';
import { type AuditAction, writeAuditEntry } from '#runtime/tree/audit-store.ts';
import type { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { makeNodeRecordInSteps, withHeaderInSteps } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { joinedMark, nodeTag } from '#runtime/tree/node-tag.ts';
import { renderNodeInSteps } from '#runtime/tree/render-node.ts';
import { type RevisionFacts, writeRevision, writeRevisionInSteps } from '#runtime/tree/revision-store.ts';
import type { DefinitionChange } from '#runtime/tree/revision-record.ts';
import { type SeesNode, shownRelations } from '#runtime/tree/shown-relations.ts';
import { TreeWriter } from '#runtime/tree/tree-writer.ts';
import { InheritedNames } from './schema/inherited-names.ts';
import type { BranchState } from './branch-state.ts';
import type { NodePlace } from './read-messages.ts';
import type { Expected } from './condition-messages.ts';
import { requireExpected, requireExpectedAbsence, requireExpectedRoot, requireVersion } from './expected.ts';
import type { CommitInfo } from './commit-messages.ts';
import { NodeAccess } from './reads/node-access.ts';
import { seenNodes } from './reads/seen-nodes.ts';

/** A command that is addressed to a node. */
interface Addressed {
  readonly workspace: string;
  readonly place: NodePlace;
  readonly expected?: Expected;
}

/** Estimated nanoseconds to write a node that the same commit has written before, and for each byte of its record. */
const REWRITE_WORK = 100_000;
const REWRITE_BYTE_WORK = 20;

/**
 * The edit that one command makes to a branch: node lookup, the rules for every write, timestamps and authors, and at
 * the end the one revision that records all changes.
 */
export class EditScope {
  readonly turn: Turn;
  readonly state: BranchState;
  readonly writer: TreeWriter;
  /** ISO 8601 time of the command. */
  readonly now: string;
  /** The author, for `created_by` and `updated_by`. */
  readonly who: string;
  /** What the caller may do. */
  readonly access: NodeAccess;
  /** What the types of the branch inherit, as this command leaves them. */
  readonly inherited: InheritedNames;
  /** By kind and name: an edit may change a definition several times. */
  readonly #definitions = new Map<string, DefinitionChange>();
  #workspace: Workspace | undefined;
  #audited = 0;

  constructor(turn: Turn, state: BranchState) {
    this.turn = turn;
    this.state = state;
    this.now = new Date(turn.wallMs).toISOString();
    this.who = actorName(turn.caller.principal);
    this.access = new NodeAccess(turn, turn);
    this.inherited = new InheritedNames(turn);
    this.writer = new TreeWriter(turn, (name) => this.schema(name), {
      sees: (workspace, id, property) => this.#seesProperty(workspace, id, property),
      atOnceMax: state.limits.indexedAtOnceMax,
      nodesOfType,
    });
  }

  /** The tree at the head, including what this command has written so far. */
  get head(): HeadNodeReader {
    return this.writer.head;
  }

  get revision(): string {
    return formatRevision(this.turn.revision);
  }

  /** A workspace of the repository. @throws {ServiceError} `WORKSPACE_NOT_FOUND` */
  workspace(name: string): Workspace {
    if (this.#workspace?.name !== name) this.#workspace = this.state.workspace(name);
    return this.#workspace;
  }

  /** The schema in force in a workspace. */
  schema(workspace: string): ResolvedSource {
    return this.state.commandSchema(this.turn, this.workspace(workspace));
  }

  /** A node type that a node may have. @throws {ServiceError} `VALIDATION_FAILED` */
  requireType(workspace: string, name: string): ResolvedNodeType {
    const schema = this.schema(workspace);
    const type = schema.nodeType(name);
    if (type === undefined) throw invalid(missingNodeType(name, schema), { field: 'node_type' });
    requireInstantiable(type);
    return type;
  }

  /**
   * A node on which the caller may perform the operation. Yields only while it reads a large one.
   *
   * @throws {ServiceError} `NODE_NOT_FOUND`, also when it may not be read; `PERMISSION_DENIED`; `WORKSPACE_NOT_FOUND`
   */
  *requireNode(workspace: string, place: NodePlace, operation: Operation): Generator<undefined, NodeRecord> {
    const record = yield* 'path' in place
      ? this.head.byPathInSteps(workspace, place.path)
      : this.head.byIdInSteps(workspace, place.id);
    if (record === undefined) {
      this.workspace(workspace);
      throw nodeNotFound(place);
    }
    this.access.authorize(operation, workspace, record, place);
    return record;
  }

  /**
   * The node a command is addressed to, if the caller may perform the operation and its preconditions hold.
   *
   * @returns yields where the work may pause, which it does only for a large node, or for preconditions on one with relations
   * @throws {ServiceError} as {@link requireNode}; `PRECONDITION_FAILED`
   */
  *requireTarget(
    { expected, place, workspace }: Addressed,
    operation: Operation,
  ): Generator<undefined, NodeRecord> {
    const record = yield* this.requireNode(workspace, place, operation);
    if (expected !== undefined)
      yield* requireExpected(record, expected, (node) => this.tagInSteps(workspace, node));
    return record;
  }

  /**
   * Checks the preconditions of a command on a node that it only reads, which may be the root.
   *
   * @param mayBeMissing whether the command continues when the node does not exist
   * @returns yields as {@link requireTarget}
   * @throws {ServiceError} `PRECONDITION_FAILED`; `NODE_NOT_FOUND`
   */
  *requireExpectedAt(
    { expected, place, workspace }: Addressed,
    mayBeMissing: boolean,
  ): Generator<undefined, void> {
    if (expected === undefined) return;
    this.workspace(workspace);
    if ('path' in place && place.path === '/') requireExpectedRoot(expected);
    else if (mayBeMissing && 'path' in place && this.head.idAt(workspace, place.path) === undefined)
      requireExpectedAbsence(expected);
    else yield* this.requireTarget({ workspace, place, expected }, 'read');
  }

  /** As {@link requireNode}, for a given version. Yields before an error. @throws {ServiceError} `PRECONDITION_FAILED` */
  *requireNodeOf(
    workspace: string,
    place: NodePlace,
    operation: Operation,
    version: number | undefined,
  ): Generator<undefined, NodeRecord> {
    const record = yield* this.requireNode(workspace, place, operation);
    yield* requireVersion(record, version, (node) => this.tagInSteps(workspace, node));
    return record;
  }

  /**
   * The current entity tag of a node as the caller sees it, without quotes; yields where the work may pause, which it does
   * only for a node with relations, or for one of which the caller may not read everything.
   *
   * @param hasChildren see {@link hasChildrenInSteps}, if known
   */
  *tagInSteps(workspace: string, stored: NodeRecord, hasChildren?: boolean): Generator<undefined, string> {
    const { mark, record } = yield* this.access.shownIfReadable(workspace, stored);
    const { nodeType, revision } = record.header;
    const relations = yield* shownRelations(record, this.#sees, this.access.marked(record));
    const isParent = hasChildren ?? (yield* this.hasChildrenInSteps(workspace, record.id));
    const type = this.schema(workspace).nodeType(nodeType);
    return nodeTag(revision, type, isParent, joinedMark(relations?.mark, mark));
  }

  get #sees(): SeesNode {
    return seenNodes(this.head, this.access);
  }

  /** Whether a node exists and the caller may read it. */
  sees(workspace: string, id: string): boolean {
    return atOnce(this.#sees(workspace, id));
  }

  /** Whether a node exists and the caller may read one of its properties. */
  #seesProperty(workspace: string, id: string, property: string): boolean {
    if (!this.sees(workspace, id)) return false;
    if (this.access.scope(workspace).fields === undefined) return true;
    const record = this.head.byId(workspace, id);
    return record !== undefined && this.access.shownFields(workspace, record).has(property);
  }

  /** Whether a node has children that the caller may read. Yields where the work may pause. */
  hasChildrenInSteps(workspace: string, id: string): Generator<undefined, boolean> {
    return this.access.hasChildren(new Moment(this.turn), workspace, id);
  }

  /**
   * Refuses a path longer than `[limits] path_bytes_max`, which could not be addressed. Every path that a write gives a
   * node is checked here, including the paths of descendants. If a node was stored under a higher limit, it may stay,
   * and it may move to a path no longer than its present one.
   *
   * @param present current path of the node, or its path in the revision it is restored from
   * @returns the path
   * @throws {ServiceError} `VALIDATION_FAILED`
   */
  newPath(path: string, present?: string): string {
    return requireShortPath(path, 'path', this.state.limits.pathBytesMax, present);
  }

  /**
   * Refuses an update of a node whose type is immutable.
   *
   * @throws {ServiceError} `VALIDATION_FAILED`
   */
  requireMutable(workspace: string, record: NodeRecord): void {
    if (this.schema(workspace).nodeType(record.header.nodeType)?.immutable === true) {
      throw invalid(`Nodes of type '${record.header.nodeType}' are immutable`);
    }
  }

  /**
   * The next state of a changed node; sets the time, author and version.
   *
   * The limits of a commit bound how many nodes it writes and how many bytes, but not how often it writes the same one, so
   * each time after the first is counted as work of the request.
   *
   * @param change header fields that differ
   * @param properties absent: unchanged and not decoded
   * @returns yields where the work may pause, which it does only for a large node
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  nextInSteps(
    record: NodeRecord,
    change: Partial<NodeHeader>,
    properties?: JsonObject,
  ): Generator<undefined, NodeRecord> {
    if (record.revision === this.revision) {
      this.turn.budget.spend(REWRITE_WORK + record.bytes.length * REWRITE_BYTE_WORK);
    }
    const header = this.#nextHeader(record, change);
    return properties === undefined
      ? withHeaderInSteps(record, header)
      : makeNodeRecordInSteps(header, properties);
  }

  #nextHeader(record: NodeRecord, change: Partial<NodeHeader>): NodeHeader {
    return {
      ...record.header,
      version: record.header.version + 1,
      updatedAt: this.now,
      updatedBy: this.who,
      revision: this.revision,
      operation: 'modified',
      changedLocale: null,
      ...change,
    };
  }

  /** Stores a changed state and checks the bound on changed nodes. @throws {ServiceError} `COMMIT_TOO_LARGE` */
  replace(workspace: string, old: NodeRecord, next: NodeRecord): void {
    this.writer.replace(workspace, old, next);
    this.checkSize();
  }

  /** As {@link replace}; yields where the work may pause, which it does only for a large node. */
  *replaceInSteps(workspace: string, old: NodeRecord, next: NodeRecord): Generator<undefined, void> {
    yield* this.writer.prepare(workspace, old);
    yield* this.writer.prepare(workspace, next);
    this.replace(workspace, old, next);
  }

  /**
   * Enforces the bound on the nodes of one commit.
   *
   * @param count nodes that are or will be changed
   * @throws {ServiceError} `COMMIT_TOO_LARGE`
   */
  checkSize(count = this.writer.changeCount): void {
    const most = this.state.limits.commitNodesMax;
    if (count > most) throw commitTooLarge(`change at most ${most} nodes`);
  }

  /** Adds a change of a schema definition to the revision record, which has one of each definition. */
  noteDefinition(change: DefinitionChange): void {
    const key = `${change.kind}\0${change.name}`;
    const before = this.#definitions.get(key)?.operation;
    this.#definitions.set(
      key,
      before === undefined ? change : { ...change, operation: joined(before, change) },
    );
  }

  /** Writes an audit entry when the node's type is auditable. @see docs/interface/revisions.md#audit-log */
  audit(workspace: string, record: NodeRecord, action: AuditAction, details: JsonObject | null = null): void {
    const { id, nodeType, path } = record.header;
    if (this.schema(workspace).nodeType(nodeType)?.auditable !== true) return;
    writeAuditEntry(this.turn, this.#audited++, {
      id: this.turn.newId(),
      node_id: id,
      path,
      workspace,
      user_id: this.who,
      action,
      timestamp: this.now,
      details,
    });
  }

  /**
   * The node object of a record as JSON text, as the caller sees it; yields where the work may pause, which it does only
   * for a large node, one with relations, or one of which the caller may not read everything. A caller who may not read
   * what it has written gets the node without properties.
   *
   * @param hasChildren see {@link hasChildrenInSteps}; looked up by default
   */
  *renderInSteps(workspace: string, stored: NodeRecord, hasChildren?: boolean): Generator<undefined, string> {
    const { record } = yield* this.access.shownIfReadable(workspace, stored);
    const type = this.schema(workspace).nodeType(record.nodeType);
    const shown = yield* shownRelations(record, this.#sees);
    return yield* renderNodeInSteps(record, {
      workspace,
      hasChildren: hasChildren ?? (yield* this.hasChildrenInSteps(workspace, record.id)),
      type,
      relations: shown?.relations,
    });
  }

  /**
   * Records the edit as one revision and moves the head to it.
   *
   * @param message used when the caller gave none
   * @returns the revision, or null when nothing changed
   */
  finish(commit: CommitInfo | undefined, message: string): string | null {
    const { changes } = this.writer;
    if (changes.length === 0 && this.#definitions.size === 0) return null;
    writeRevision(this.turn, this.#revisionFacts(commit, message), changes, [...this.#definitions.values()]);
    return this.revision;
  }

  /** As {@link finish}, for edits that may have changed many nodes; yields where the work may pause. */
  *finishInSteps(commit: CommitInfo | undefined, message: string): Generator<undefined, string | null> {
    const { changes } = this.writer;
    if (changes.length === 0 && this.#definitions.size === 0) return null;
    yield* writeRevisionInSteps(this.turn, this.#revisionFacts(commit, message), changes, [
      ...this.#definitions.values(),
    ]);
    return this.revision;
  }

  #revisionFacts(commit: CommitInfo | undefined, message: string): RevisionFacts {
    return {
      ...authorship(this.who, commit),
      message: commit?.message ?? message,
      isSystem: commit?.isSystem ?? false,
    };
  }
}

/**
 * Whom a revision names: the actor that its caller gives, and then also the caller, so that nobody can write in the name of
 * another one.
 */
export function authorship(
  who: string,
  commit: CommitInfo | undefined,
): Pick<RevisionFacts, 'actor' | 'author'> {
  const actor = commit?.actor ?? who;
  return actor === who ? { actor } : { actor, author: who };
}

/** What two changes of a definition are together. One that was added and deleted is reported as deleted. */
function joined(
  before: DefinitionChange['operation'],
  { operation }: DefinitionChange,
): DefinitionChange['operation'] {
  if (operation === 'modified') return before === 'added' ? 'added' : 'modified';
  return operation === 'added' ? 'modified' : operation;
}

/** The fields of a node that stay when it changes only because another node was changed. */
export function unmoved({
  header: { version, updatedAt, updatedBy },
}: NodeRecord): Pick<NodeHeader, 'version' | 'updatedAt' | 'updatedBy'> {
  return { version, updatedAt, updatedBy };
}
