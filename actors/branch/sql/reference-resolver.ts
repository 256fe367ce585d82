import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { isWorkspaceName } from '#runtime/content/names.ts';
import { referenceTarget, type ReferenceTarget } from '#runtime/content/values/references.ts';
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  setKey,
} from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { Moment } from '#runtime/scan/moment.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { NodeAccess } from '../reads/node-access.ts';
import type { BranchTables } from './branch-tables.ts';
import { recordAtOnce } from './record-at-once.ts';

/** Deepest level of references that are followed. */
const DEPTH_MAX = 10;

/** Most references that are followed in one value: a function does not pause. */
const REFERENCES_MAX = 100;

/** Deepest nesting of values in which references are looked for. Values of statements are not deeper. */
const LEVELS_MAX = 500;

/**
 * Most bytes of nodes that are put into one value. They are read and decoded without a pause, and in memory they take several
 * times as much.
 */
const BYTES_MAX = 4 * 1024 * 1024;

/** Estimated nanoseconds to find a node, to ask about it and to decode it, besides its bytes. */
const NODE_WORK = 40_000;

/** Estimated nanoseconds to decode a byte of a node. */
const BYTE_WORK = 6;

/** What is left of one call. */
interface Following {
  references: number;
  bytes: number;
  /** Nodes that were looked at, by workspace and id; undefined: the caller may not read it, or it is not there. */
  readonly known: Map<string, NodeRecord | undefined>;
}

/**
 * RESOLVE: puts nodes in the place of references to them, as the caller may see them. A reference to a node that is not there, or
 * that the caller may not read, stays: the two cannot be told apart.
 *
 * @see docs/interface/sql-functions.md#references
 */
export class ReferenceResolver {
  readonly #tables: BranchTables;
  readonly #access: NodeAccess;
  readonly #moment: Moment;

  constructor(tables: BranchTables) {
    this.#tables = tables;
    this.#access = new NodeAccess(tables.context, tables.reader);
    this.#moment = new Moment(tables.reader, tables.moment);
  }

  /**
   * @param depth levels of references that are followed, 0 to {@link DEPTH_MAX}
   * @throws {ServiceError} `VALIDATION_FAILED` for another depth; `REQUEST_TOO_EXPENSIVE`
   */
  resolve(value: JsonValue, depth: number): JsonValue {
    if (depth < 0 || depth > DEPTH_MAX)
      throw invalid(`The depth of RESOLVE is a number from 0 to ${DEPTH_MAX}, not ${depth}`);
    return this.#resolved(
      value,
      depth,
      undefined,
      { references: REFERENCES_MAX, bytes: BYTES_MAX, known: new Map() },
      0,
    );
  }

  /** @param home the workspace of references that name none; undefined: there is none */
  #resolved(
    value: JsonValue,
    depth: number,
    home: string | undefined,
    left: Following,
    level: number,
  ): JsonValue {
    if (depth === 0 || level > LEVELS_MAX) return value;
    if (isJsonArray(value)) return value.map((item) => this.#resolved(item, depth, home, left, level + 1));
    if (!isJsonObject(value)) return value;
    const target = referenceTarget(value);
    if (target !== undefined) return this.#node(target, depth, home, left, level) ?? value;
    const changed: Record<string, JsonValue> = {};
    for (const [key, item] of Object.entries(value))
      setKey(changed, key, this.#resolved(item, depth, home, left, level + 1));
    return changed;
  }

  #node(
    { ref, workspace: named }: ReferenceTarget,
    depth: number,
    home: string | undefined,
    left: Following,
    level: number,
  ): JsonObject | undefined {
    const workspace = named ?? home;
    if (workspace === undefined || !isWorkspaceName(workspace)) return undefined;
    if (left.references === 0)
      throw new ServiceError(
        'REQUEST_TOO_EXPENSIVE',
        `RESOLVE follows at most ${REFERENCES_MAX} references in one value; give it less, or a smaller depth`,
      );
    left.references -= 1;
    this.#tables.context.budget.spend(NODE_WORK);
    const record = this.#readable(workspace, ref, left);
    if (record === undefined) return undefined;
    this.#spend(record.bytes.length, left);
    const { record: shown } = atOnce(this.#access.shown(workspace, record));
    const { id, name, nodeType, path } = shown;
    const properties = this.#resolved(atOnce(shown.decode()), depth - 1, workspace, left, level + 1);
    return { id, name, path, node_type: nodeType, workspace, properties };
  }

  /** Counts a node that is to be decoded. Only those that the caller may read: a refusal tells nothing of the others. */
  #spend(bytes: number, left: Following): void {
    left.bytes -= bytes;
    if (left.bytes < 0)
      throw new ServiceError(
        'REQUEST_TOO_EXPENSIVE',
        `RESOLVE puts at most ${BYTES_MAX / (1024 * 1024)} MiB of nodes into one value; give it less, or a smaller depth`,
      );
    // A function does not pause, so what it decodes counts as the work of its row.
    this.#tables.context.budget.spend(bytes * BYTE_WORK);
  }

  /** The node that a reference leads to; undefined where it is not there, or the caller may not read it. */
  #readable(workspace: string, ref: string, left: Following): NodeRecord | undefined {
    const id = ref.startsWith('/') ? this.#moment.tree.idAt(workspace, ref) : ref;
    if (id === undefined || ref === '/') return undefined;
    const key = `${workspace}\0${id}`;
    // A large node is read once, however often a value refers to it.
    if (!left.known.has(key)) {
      const record = recordAtOnce(this.#tables, this.#moment, workspace, id);
      const isReadable = record !== undefined && this.#access.mayRead(workspace, record);
      left.known.set(key, isReadable ? record : undefined);
    }
    return left.known.get(key);
  }
}
