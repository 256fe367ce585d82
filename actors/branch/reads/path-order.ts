import { assert } from '#runtime/base/assert.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { pathDepth } from '#runtime/content/path.ts';
import { bytesText, LONG_PART_BYTES, textBytes } from '#runtime/shard/binary-key.ts';
import { BranchTable, pathKey, typeKey, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { decodeBinding, HeadNodeReader, type NodeReader } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import { childrenInBatches, take } from './batched-rows.ts';
import type { ParentPlace } from './require-parent.ts';
import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';

/** A node found by walking keys, not read yet. */
export interface FoundNode {
  readonly id: string;
  readonly path: string;
}

/** Longest node name, in bytes; it may make a child's path too long for a key. */
const NAME_BYTES = 255;

/** Rows read after skipping a subtree; more when no subtree follows. */
const STRETCH_MIN = 8;

/** Bytes of a found node without its texts, and the estimated nanoseconds to find it. */
const FOUND_BYTES = 150;
const FOUND_WORK = 5_000;

/** Most rows read between two pauses. */
const STRETCH_MAX = 128;

/** Compares by path, then id. @see docs/interface/queries.md#json-query */
export function byPathThenId(a: FoundNode, b: FoundNode): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/**
 * The children of a node in path order, at the head. It walks the keys of the paths and skips the subtree of each
 * child, so that it reads neither nodes nor subtrees.
 *
 * @returns also yields undefined where the walk may pause
 */
export function childrenByPath(
  reader: TableReader,
  workspace: string,
  parent: ParentPlace,
  budget: RequestBudget,
): Generator<FoundNode | undefined, void> {
  const base = parent.path === '/' ? '/' : `${parent.path}/`;
  const isCut = textBytes(base).length + NAME_BYTES > LONG_PART_BYTES;
  return isCut ? cutChildren(reader, workspace, parent.id, budget) : walkedChildren(reader, workspace, base);
}

function* walkedChildren(
  reader: TableReader,
  workspace: string,
  base: string,
): Generator<FoundNode | undefined, void> {
  const all = pathKey(workspace, base);
  const end = pathKey(workspace, behind(base));
  let size = STRETCH_MIN;
  for (let start = all; ; ) {
    const rows = take(reader.range(BranchTable.paths, { start, end }), size);
    let jumped = false;
    for (const { key, value } of rows) {
      const name = bytesText(key.slice(all.length));
      const slash = name.indexOf('/');
      if (slash !== -1) {
        // A path below a child that was found already. The whole subtree has this prefix.
        start = pathKey(workspace, behind(base + name.slice(0, slash + 1)));
        jumped = true;
        break;
      }
      yield { id: decodeBinding(value).id, path: base + name };
      start = `${key}\0`;
    }
    if (!jumped && rows.length < size) return;
    size = jumped ? STRETCH_MIN : Math.min(size * 2, STRETCH_MAX);
    yield undefined;
  }
}

/** The first path that sorts after every path with the prefix `prefix`, which ends with a slash. */
function behind(prefix: string): string {
  return `${prefix.slice(0, -1)}0`;
}

/** The children where paths are longer than a key: there the keys are not in path order. */
function* cutChildren(
  reader: TableReader,
  workspace: string,
  parentId: string,
  budget: RequestBudget,
): Generator<FoundNode | undefined, void> {
  yield* yield* sortedChildren(new HeadNodeReader(reader), workspace, parentId, budget);
}

/**
 * The children of a node in path order, at any revision. It reads each of them.
 *
 * @returns the children; yields undefined where the walk may pause
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 */
export function* sortedChildren(
  tree: NodeReader,
  workspace: string,
  parentId: string,
  budget: RequestBudget,
): Generator<undefined, readonly FoundNode[]> {
  const found: FoundNode[] = [];
  for (const entry of childrenInBatches(tree, workspace, parentId)) {
    if (entry === undefined) {
      yield undefined;
      continue;
    }
    const { id } = entry;
    budget.spend(FOUND_WORK);
    const { header } = yield* placedNode(tree, workspace, id);
    found.push(kept({ id, path: header.path }, budget));
    yield undefined;
  }
  return yield* sortInSlices(found, byPathThenId);
}

/**
 * The nodes of a type in path order, at any revision. It walks the whole tree of that revision, because types are
 * indexed for the head only: the cost grows with the size of the workspace at that revision. An index of earlier
 * revisions would add a row to every write, for a query that is rare.
 *
 * @returns the nodes; yields undefined where the walk may pause
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 */
export function* sortedNodesOfType(
  tree: NodeReader,
  workspace: string,
  nodeType: string,
  budget: RequestBudget,
): Generator<undefined, readonly FoundNode[]> {
  const found: FoundNode[] = [];
  const open = [childrenInBatches(tree, workspace, ROOT_ID)];
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const child = level.next();
    if (child.done === true) {
      open.pop();
      continue;
    }
    if (child.value === undefined) {
      yield undefined;
      continue;
    }
    const { id } = child.value;
    const { header } = yield* placedNode(tree, workspace, id);
    budget.spend(FOUND_WORK);
    if (header.nodeType === nodeType) found.push(kept({ id, path: header.path }, budget));
    open.push(childrenInBatches(tree, workspace, id));
    yield undefined;
  }
  return yield* sortInSlices(found, byPathThenId);
}

/** Charges the budget for a node that is kept until all have been found. */
function kept(found: FoundNode, budget: RequestBudget): FoundNode {
  budget.keep(FOUND_BYTES + 2 * (found.id.length + found.path.length));
  return found;
}

function* placedNode(tree: NodeReader, workspace: string, id: string): Generator<undefined, NodeRecord> {
  const record = yield* tree.byIdInSteps(workspace, id);
  assert(record !== undefined, `node ${id} has a place but is not stored`);
  return record;
}

/**
 * The nodes of a type in path order, at the head, by keys alone.
 *
 * @returns also yields undefined where the walk may pause
 */
export function* nodesOfType(
  reader: TableReader,
  workspace: string,
  nodeType: string,
): Generator<FoundNode | undefined, void> {
  const prefix = typeKey(workspace, nodeType, '').length;
  const tree = new HeadNodeReader(reader);
  let cut: FoundNode[] = [];
  let stem = '';
  let met = 0;
  for (const { key, value } of rowsInBatches(reader, BranchTable.types, underParts(workspace, nodeType))) {
    met += 1;
    if (met % STRETCH_MAX === 0) yield undefined;
    const part = key.slice(prefix);
    if (cut.length > 0 && part.slice(0, LONG_PART_BYTES) !== stem) {
      yield* yield* sortInSlices(cut, byPathThenId);
      cut = [];
    }
    const id = bytesText(Buffer.from(value.buffer, value.byteOffset, value.byteLength).latin1Slice());
    if (part.length <= LONG_PART_BYTES) {
      yield { id, path: bytesText(part) };
      continue;
    }
    // Long paths with the same prefix are adjacent, ordered by hash.
    stem = part.slice(0, LONG_PART_BYTES);
    const record = yield* tree.byIdInSteps(workspace, id);
    if (record !== undefined) cut.push({ id, path: record.header.path });
  }
  yield* yield* sortInSlices(cut, byPathThenId);
}

/** Whether a path is that of a root-level node. */
export function isRootLevel(path: string): boolean {
  return pathDepth(path) === 1;
}
