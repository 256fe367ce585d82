import { wholeScope } from '#runtime/access/policy.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { Relation } from '#runtime/content/content-node.ts';
import type { RelationDirection } from '#runtime/rel/ports.ts';
import { PresentState } from '#runtime/scan/moment.ts';
import { changedFor, type ScanSource, scan } from '#runtime/scan/scan.ts';
import { bytesText, END, textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { ACCESS_WORKSPACE, isAmongUsers, USER_TYPE } from '../access/user-places.ts';
import type { NodeName } from './incoming-edges.ts';

/** Users with one identity that are looked at. */
const NAMESAKES_MAX = 16;

/** Most nodes and relations that one question looks at: about two milliseconds. */
const LOOKED_MAX = 2_000;

/** What looking at a node counts, in relations. */
const NODE_LOOKS = 4;

/** Estimated nanoseconds to look at a relation. */
const LOOK_WORK = 1_000;

/** A question for relations, as conditions ask it. */
export interface RelationQuestion {
  readonly from: string;
  readonly to: string;
  readonly types: readonly string[];
  readonly depthMin: number;
  readonly depthMax: number;
  readonly direction: RelationDirection;
}

/** Thrown when a question takes too much work. */
const givenUp = Symbol('the question takes too much work');

/**
 * Follows relations for conditions of permissions. They are those of the head, whatever revision is read: who loses a
 * relation loses what it permitted, also of the past.
 *
 * An id may be in several workspaces, and who creates a node may choose its id. So what an id means does not depend on which
 * nodes there are elsewhere: the node that is asked about, else the user with this identity, else the node of
 * `svc:access_control`, else the node of the workspace that is asked about.
 *
 * @see docs/interface/condition-language.md#relations
 */
export class RelationSearch {
  readonly #reader: TableReader;
  readonly #spend: (work: number) => void;

  /** @param spend counts work before it is done, in estimated nanoseconds */
  constructor(reader: TableReader, spend: (work: number) => void) {
    this.#reader = reader;
    this.#spend = spend;
  }

  /**
   * Whether relations lead from one node to another.
   *
   * @param asked the node that a condition is asked about
   * @returns undefined when the search was given up
   */
  related(asked: NodeName, question: RelationQuestion): boolean | undefined {
    const tree = new HeadNodeReader(this.#reader);
    const from = this.#nodeOf(tree, asked, question.from);
    const to = this.#nodeOf(tree, asked, question.to);
    if (from === undefined || to === undefined) return false;
    try {
      return this.#leads(tree, from, to, question);
    } catch (thrown) {
      if (thrown !== givenUp) throw thrown;
      return undefined;
    }
  }

  #nodeOf(tree: HeadNodeReader, asked: NodeName, id: string): NodeName | undefined {
    if (id === asked.id) return asked;
    // The text comes from content and becomes part of a key.
    if (id === '' || id.includes(END)) return undefined;
    const user = this.#userOf(id);
    if (user !== undefined) return { workspace: ACCESS_WORKSPACE, id: user };
    for (const workspace of [ACCESS_WORKSPACE, asked.workspace])
      if (tree.has(workspace, id)) return { workspace, id };
    return undefined;
  }

  /**
   * Id of the node of a user by the id of its identity, as for its permissions: several with one identity are none. Without
   * an index nobody is found: all users would be read.
   */
  #userOf(identity: string): string | undefined {
    this.#spend(NODE_LOOKS * LOOK_WORK);
    const moment = new PresentState(this.#reader);
    const where = [{ operator: 'eq', value: identity }] as const;
    const source: ScanSource = {
      kind: 'index',
      workspace: ACCESS_WORKSPACE,
      nodeType: USER_TYPE,
      index: 'user_id',
      equal: [],
      where,
    };
    if (atOnce(changedFor(moment, source)) === undefined) return undefined;
    const users: string[] = [];
    for (const row of scan(moment, { source, scope: wholeScope, limit: NAMESAKES_MAX })) {
      // The keys of long values are cut.
      if (row?.record.property('user_id') === identity && isAmongUsers(this.#reader, row.record))
        users.push(row.id);
    }
    return users.length === 1 ? users[0] : undefined;
  }

  /** A relation may be passed more than once. */
  #leads(
    tree: HeadNodeReader,
    from: NodeName,
    to: NodeName,
    { depthMax, depthMin, direction, types }: RelationQuestion,
  ): boolean {
    const wanted = new Set(types);
    let looked = 0;
    const look = (count: number): void => {
      looked += count;
      if (looked > LOOKED_MAX) throw givenUp;
      this.#spend(count * LOOK_WORK);
    };
    let reached = new Map([[keyOf(from), from]]);
    for (let depth = 1; depth <= depthMax && reached.size > 0; depth += 1) {
      const next = new Map<string, NodeName>();
      for (const node of reached.values()) {
        look(NODE_LOOKS);
        // A relation to a deleted node stays stored.
        if (!tree.has(node.workspace, node.id)) continue;
        if (direction !== 'INCOMING')
          for (const found of outgoing(tree, node, wanted, look)) next.set(keyOf(found), found);
        if (direction !== 'OUTGOING')
          for (const found of this.#incoming(node, wanted, look)) next.set(keyOf(found), found);
      }
      if (depth >= depthMin && next.has(keyOf(to))) return true;
      reached = next;
    }
    return false;
  }

  *#incoming(
    { id, workspace }: NodeName,
    types: ReadonlySet<string>,
    look: (count: number) => void,
  ): Generator<NodeName, void> {
    const range = underParts(workspace, textBytes(id), 'relation');
    for (const { key, value } of this.#reader.range(BranchTable.references, range)) {
      look(1);
      const { buffer, byteLength, byteOffset } = value;
      const text = Buffer.from(buffer, byteOffset, byteLength).utf8Slice();
      if (!types.has((JSON.parse(text) as Relation).relation_type)) continue;
      const [source, bytes] = key.slice(range.start.length).split(END) as [string, string];
      yield { workspace: source, id: bytesText(bytes) };
    }
  }
}

/** The targets of relations of a node. A large node is not followed: reading it would take too long. */
function* outgoing(
  tree: HeadNodeReader,
  { id, workspace }: NodeName,
  types: ReadonlySet<string>,
  look: (count: number) => void,
): Generator<NodeName, void> {
  const record = tree.quickById(workspace, id);
  if (record === undefined) return;
  if (record instanceof LargeValue || record.isLarge) throw givenUp;
  if (!record.hasRelations) return;
  for (const relation of record.header.relations) {
    look(1);
    if (types.has(relation.relation_type)) yield { workspace: relation.workspace, id: relation.target };
  }
}

function keyOf({ id, workspace }: NodeName): string {
  return workspace + END + id;
}
