import type { TextBytes } from '#runtime/base/text/text-bytes.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { BranchState } from '../branch-state.ts';
import { answerScan, type Piece } from '../long-answer.ts';
import type { JsonAnswer } from '../messages.ts';
import type { ReadTree } from '../read-messages.ts';
import { withParent } from './require-parent.ts';
import { VisibleNodes, type VisibleRow } from './visible-nodes.ts';

/** Most levels of one tree read. */
const LEVELS_MAX = 100;

/** The syntax of one form of the tree around its nodes. */
interface TreeForm {
  /** Texts before the first child of a node and after its last one. */
  readonly open: string;
  readonly close: string;
  /**
   * A node of `VisibleNodes.passingRows` up to the position of its children, and a text before it; `isLast` when they are
   * below the requested levels.
   */
  node(
    nodes: VisibleNodes,
    row: VisibleRow,
    before: string,
    isLast: boolean,
    text: TextBytes,
  ): Generator<string, void>;
  /** Text after the children of a node. */
  readonly end: string;
}

/** The children of one node that are still to be written. */
interface Level {
  readonly children: Iterator<VisibleRow | undefined, unknown>;
  isEmpty: boolean;
}

/** A subtree as one JSON document. @see messages.ts, ReadTree; docs/interface/reading.md#forms-of-a-tree */
export function readTree(
  state: BranchState,
  context: QueryContext,
  query: ReadTree,
): JsonAnswer | Promise<JsonAnswer> {
  const levels = Math.min(Math.trunc(query.levels), LEVELS_MAX);
  if (!(levels >= 1)) throw invalid('A tree is read one level deep at least', { field: 'level' });
  return withParent(state, context, query, ({ id }) =>
    answerScan(context, (reader, text) => {
      const nodes = new VisibleNodes(state, context, reader, query);
      return query.form === 'flat'
        ? flatTree(nodes, id, levels, text)
        : nestedTree(nodes, id, levels, query.form === 'array' ? arrayForm : mapForm, text);
    }),
  );
}

function childrenOf(nodes: VisibleNodes, parentId: string): Generator<VisibleRow | undefined, unknown> {
  return nodes.passingRows({ kind: 'children', workspace: nodes.workspace, parentId });
}

function levelOf(nodes: VisibleNodes, id: string): Level {
  return { children: childrenOf(nodes, id), isEmpty: true };
}

/** Descendants in tree order: each node before its descendants. An invisible node hides its descendants. */
function* flatTree(
  nodes: VisibleNodes,
  parentId: string,
  levels: number,
  text: TextBytes,
): Generator<Piece, void> {
  const open: Level[] = [levelOf(nodes, parentId)];
  let opening = '[';
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const child = level.children.next();
    if (child.done === true) {
      open.pop();
      continue;
    }
    const node = child.value;
    if (node === undefined) {
      yield '';
      continue;
    }
    if (nodes.writeAtOnce(node, opening, text)) yield '';
    else yield* nodes.pieces(nodes.kept(node), opening);
    opening = ',';
    if (open.length < levels && node.hasChildren !== false) open.push(levelOf(nodes, node.id));
  }
  yield opening === '[' ? '[]' : ']';
}

/** Nodes nested in their parents. The walk keeps its own stack, so depth uses no call stack. */
function* nestedTree(
  nodes: VisibleNodes,
  parentId: string,
  levels: number,
  form: TreeForm,
  text: TextBytes,
): Generator<Piece, void> {
  const open: Level[] = [levelOf(nodes, parentId)];
  yield form.open;
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const child = level.children.next();
    if (child.done === true) {
      open.pop();
      yield open.length === 0 ? form.close : form.close + form.end;
      continue;
    }
    if (child.value === undefined) {
      yield '';
      continue;
    }
    const node = child.value;
    const before = level.isEmpty ? '' : ',';
    level.isEmpty = false;
    const isLast = open.length === levels;
    const large = nodes.largePiece(node);
    if (large !== undefined) yield large;
    yield* form.node(nodes, node, before, isLast, text);
    if (isLast) yield form.end;
    else if (node.hasChildren === false) yield form.open + form.close + form.end;
    else {
      yield form.open;
      open.push(levelOf(nodes, node.id));
    }
  }
}

/** Nodes with nested nodes in `children`, names at the deepest level. */
const arrayForm: TreeForm = {
  open: '[',
  close: ']',
  end: '}',
  *node(nodes, row, before, isLast) {
    yield `${before}${(yield* nodes.text(nodes.kept(row))).slice(0, -1)},"children":`;
    if (!isLast) return;
    let opening = '[';
    for (const child of childrenOf(nodes, row.id)) {
      if (child === undefined) yield '';
      else {
        yield opening + JSON.stringify(child.record.name);
        opening = ',';
      }
    }
    yield opening === '[' ? '[]' : ']';
  },
};

/** `{name: {node, children: {…}}}`. */
const mapForm: TreeForm = {
  open: '{',
  close: '}',
  end: '}',
  *node(nodes, row, before, isLast, text) {
    const opening = `${before}${JSON.stringify(row.record.name)}:{"node":`;
    const children = `,"children":${isLast ? '{}' : ''}`;
    if (nodes.writeAtOnce(row, opening, text)) yield children;
    else yield `${opening}${yield* nodes.text(nodes.kept(row))}${children}`;
  },
};
