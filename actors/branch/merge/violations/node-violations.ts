import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { isAllowedUnder, requireAllowedInWorkspace } from '#runtime/content/validation/allowed-children.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { ResolvedSource } from '#runtime/content/resolution/schema-resolver.ts';
import {
  requireArchetype,
  requireInstantiable,
  validateProperties,
} from '#runtime/content/validation/validate-node.ts';
import { prepareComparison, sameProperties } from '#runtime/tree/net-change.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { eachInSlices } from '../../each-in-slices.ts';
import type { Side } from '../../pair/branch-pair.ts';
import type { NodeAddress } from '../../pair-messages.ts';
import { nodeKeyOf } from '../merge-sides.ts';
import { refusalOf } from './merged-schemas.ts';
import { isChanged, type MergedNode, type MergeView, stateOn, changedDefinitionsText } from './merge-view.ts';
import type { Violation } from './violation.ts';

/** Most issues listed for one node. */
const ISSUES_TOLD_MAX = 10;

/** Both sides of a merge. */
export const bothSides: readonly Side[] = ['own', 'other'];

interface Issue {
  readonly message: string;
  readonly property?: string;
}

/** The content of a node that a schema restricts. */
interface Content {
  readonly nodeType: string;
  readonly archetype: string | null;
  readonly properties: JsonObject;
}

/**
 * Checks nodes one by one against the merged schema, and against the workspace they are in. An issue that a side has
 * with the same content, or with the same parent, is not an issue of the merge.
 */
export class NodeViolations {
  readonly #view: MergeView;
  readonly #note: (violation: Violation) => void;
  /** Nodes whose type differs between the states of the merge, by `nodeKeyOf`. */
  readonly #retyped: ReadonlySet<string>;

  private constructor(view: MergeView, note: (violation: Violation) => void, retyped: ReadonlySet<string>) {
    this.#view = view;
    this.#note = note;
    this.#retyped = retyped;
  }

  /** Yields where the work may pause. */
  static *of(view: MergeView, note: (violation: Violation) => void): Generator<undefined, NodeViolations> {
    return new NodeViolations(view, note, yield* retypedNodes(view));
  }

  /** Yields where the work may pause. */
  *check(node: MergedNode): Generator<undefined, void> {
    this.#checkWorkspace(node);
    yield* this.#checkContent(node);
    yield* this.#checkParent(node);
  }

  /** Only for nodes that the merge adds. A resolution for the node allows it. */
  #checkWorkspace(node: MergedNode): void {
    const { schemas, sides, tree } = this.#view;
    const theirs = sides.other.get(node.key);
    const ours = sides.own.get(node.key);
    const present = ours === undefined ? theirs?.before : ours.after;
    const atRoot = node.state.header.parentId === ROOT_ID;
    const wasAtRoot = present?.header.parentId === ROOT_ID;
    if (present !== undefined && (!atRoot || wasAtRoot)) return;
    const workspace = schemas.workspace(node.workspace);
    if (workspace === undefined || tree.decisionOf(node)?.origin === 'given') return;
    const lists =
      present === undefined ? workspace : { ...workspace, allowed_node_types: [] as readonly string[] };
    const refusal = refusalOf(() => requireAllowedInWorkspace(lists, node.state.nodeType, atRoot));
    if (refusal === undefined) return;
    this.#note({ type: 'TypeNotAllowed', message: refusal.message, ...subjectOf(node), others: [] });
  }

  *#checkContent(node: MergedNode): Generator<undefined, void> {
    const { budget, schemas, tree } = this.#view;
    const { home, state, workspace } = node;
    const given = tree.decisionOf(node)?.properties;
    if (given === undefined && schemas.differing(home).size === 0) return;
    const { archetype, nodeType } = state.header;
    if (given === undefined && !schemas.affects(home, workspace, nodeType, archetype)) return;
    const schema = schemas.in(workspace, 'merged');
    if (schema === undefined) return;
    const properties = given ?? (yield* state.decode());
    const content = { nodeType, archetype, properties };
    const issues = issuesOf(schema, content, budget);
    if (issues.length === 0) return;
    const known = given === undefined ? yield* this.#knownIssues(node) : new Set<string>();
    const fresh = issues.filter(({ message }) => !known.has(message)).slice(0, ISSUES_TOLD_MAX);
    if (fresh.length === 0) return;
    const sides = given === undefined ? [home] : bothSides;
    const definitions = schemas.causes(sides, workspace, (each) => void issuesOf(each, content));
    if (definitions.some(({ isOpen }) => isOpen)) return;
    const type = definitions.some(({ merged }) => merged === undefined)
      ? 'MissingDefinition'
      : 'InvalidContent';
    const told = changedDefinitionsText(this.#view, home, definitions);
    for (const { message, property } of fresh) {
      this.#note({
        type,
        message: message + told,
        ...(property === undefined ? {} : { property }),
        ...subjectOf(node),
        others: definitions,
      });
    }
  }

  /** The issues that a node has on the sides with the same content. */
  *#knownIssues(node: MergedNode): Generator<undefined, ReadonlySet<string>> {
    const { budget, schemas } = this.#view;
    const { state, workspace } = node;
    const known = new Set<string>();
    for (const side of bothSides) {
      const there = yield* stateOn(this.#view, side, node);
      if (there === undefined) continue;
      yield* prepareComparison([state, there]);
      if (!isSameContent(state, there)) continue;
      const schema = schemas.in(workspace, side);
      if (schema === undefined) continue;
      const { archetype, nodeType } = there.header;
      const properties = yield* there.decode();
      for (const { message } of issuesOf(schema, { nodeType, archetype, properties }, budget))
        known.add(message);
    }
    return known;
  }

  /**
   * A type may not allow the child that the other side created or moved there, and the type of a parent may have
   * changed.
   */
  *#checkParent(node: MergedNode): Generator<undefined, void> {
    const { disputed, schemas, tree } = this.#view;
    const { home, state, workspace } = node;
    if (schemas.differing(home).size === 0 && this.#retyped.size === 0) return;
    const { parentId } = state.header;
    const parentKey = nodeKeyOf(workspace, parentId);
    if (parentId === ROOT_ID || disputed.has(parentKey)) return;
    const parent = { workspace, id: parentId };
    const parentType = (yield* tree.stateOf(parent))?.nodeType;
    if (parentType === undefined) return;
    const isRetyped = this.#retyped.has(parentKey);
    const isAffected = schemas.affects(home, workspace, parentType, null);
    if (!isRetyped && !isAffected) return;
    const merged = schemas.in(workspace, 'merged');
    if (merged === undefined || isAllowed(merged, parentType, state.nodeType)) return;
    for (const side of bothSides) if (yield* this.#isRefusedOn(side, node, parent)) return;
    const definitions = isAffected
      ? schemas.causes([home], workspace, (schema) => void schema.nodeType(parentType))
      : [];
    if (definitions.some(({ isOpen }) => isOpen)) return;
    this.#note({
      type: 'ChildNotAllowed',
      message:
        `NodeType '${state.nodeType}' is not allowed as a child of NodeType '${parentType}'` +
        changedDefinitionsText(this.#view, home, definitions),
      ...subjectOf(node),
      others: isRetyped && isChanged(this.#view, parent) ? [parent, ...definitions] : definitions,
    });
  }

  /** Whether a side has the node under the same parent, and the type of the parent there does not allow it either. */
  *#isRefusedOn(side: Side, node: MergedNode, parent: NodeAddress): Generator<undefined, boolean> {
    const there = yield* stateOn(this.#view, side, node);
    const parentType = (yield* stateOn(this.#view, side, parent))?.nodeType;
    const schema = this.#view.schemas.in(node.workspace, side);
    if (there === undefined || parentType === undefined || schema === undefined) return false;
    if (there.header.parentId !== parent.id) return false;
    return !isAllowed(schema, parentType, there.nodeType);
  }
}

/** A node as the subject of a violation. */
export function subjectOf({ id, state, workspace }: MergedNode): Pick<Violation, 'path' | 'subject'> {
  return { subject: { workspace, id }, path: state.header.path };
}

/** Whether a parent type allows a child. A type that does not resolve allows everything. */
function isAllowed(schema: ResolvedSource, parentType: string, nodeType: string): boolean {
  let isFit = true;
  refusalOf(() => {
    const parent = schema.nodeType(parentType);
    isFit = parent === undefined || isAllowedUnder(parent, nodeType);
  });
  return isFit;
}

/** Whether two states have the same type, archetype and properties. */
function isSameContent(a: NodeRecord, b: NodeRecord): boolean {
  if (a === b) return true;
  return a.nodeType === b.nodeType && a.header.archetype === b.header.archetype && sameProperties(a, b);
}

/** All issues of the content of a node. @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
function issuesOf(
  schema: ResolvedSource,
  { archetype: archetypeName, nodeType, properties }: Content,
  budget?: RequestBudget,
): readonly Issue[] {
  let issues: readonly Issue[] = [];
  const refusal = refusalOf(() => {
    const type = schema.nodeType(nodeType);
    if (type === undefined) {
      issues = [{ message: `NodeType '${nodeType}' not found` }];
      return;
    }
    requireInstantiable(type);
    const archetype = archetypeName === null ? null : requireArchetype(archetypeName, type, schema);
    issues = validateProperties(type, archetype, properties, schema, budget);
  });
  return refusal === undefined ? issues : [{ message: refusal.message }];
}

/** Nodes that one side recreated with another type, by `nodeKeyOf`. */
function* retypedNodes({ sides }: MergeView): Generator<undefined, ReadonlySet<string>> {
  const retyped = new Set<string>();
  for (const changes of [sides.own, sides.other]) {
    yield* eachInSlices(changes, ([key, { after, before }]) => {
      const types = [before, after, sides.own.get(key)?.after].flatMap((state) => state?.nodeType ?? []);
      if (types.some((type) => type !== types[0])) retyped.add(key);
    });
  }
  return retyped;
}
