import { Buffer } from 'node:buffer';
import { DecisionWork } from '#runtime/access/decision-work.ts';
import { allFields, type FieldFilter } from '#runtime/access/field-filter.ts';
import type { ReadScope } from '#runtime/access/policy.ts';
import { assert } from '#runtime/base/assert.ts';
import type { TextBytes } from '#runtime/base/text/text-bytes.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { isNodeId } from '#runtime/content/content-node.ts';
import type { ReferenceTarget } from '#runtime/content/values/references.ts';
import { PropertySelection } from '#runtime/content/values/property-selection.ts';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { Moment } from '#runtime/scan/moment.ts';
import {
  changedFor,
  countNodes,
  countPlaces,
  PASSING_BYTES_MAX,
  type ScanRequest,
  type ScanRow,
  type ScanSource,
} from '#runtime/scan/scan.ts';
import { HeadNodeReader, type NodeReader } from '#runtime/tree/node-reader.ts';
import type { ManualVersion } from '#runtime/tree/manual-version-store.ts';
import { makeNodeRecordInSteps } from '#runtime/tree/record/make-record.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { RecordView } from '#runtime/tree/record/record-view.ts';
import { ReadableRow, type RowPredicate } from '#runtime/scan/row-filter.ts';
import { AddedFields, writeRecord } from '#runtime/tree/record/write-record.ts';
import { joinedMark, nodeTag } from '#runtime/tree/node-tag.ts';
import { derivedTypeText, type RenderFacts, renderNodeInSteps } from '#runtime/tree/render-node.ts';
import { type SeesNode, shownRelations } from '#runtime/tree/shown-relations.ts';
import type { BranchState } from '../branch-state.ts';
import { LargePiece, type Piece, silently } from '../long-answer.ts';
import { type ExpandedNode, Expansion } from './expansion.ts';
import { isHidden, localeChain, localizedProperties } from './localize.ts';
import { schemaAt } from './moment-readers.ts';
import { NodeAccess } from './node-access.ts';
import { seenNodes } from './seen-nodes.ts';
import { selectedText } from './selected-text.ts';

/** From this record size on, the text of a node counts as large. */
export const LARGE_NODE_BYTES = 64 * 1024;

/** Estimated nanoseconds to look up and render the target of a reference. */
const EXPAND_WORK = 20_000;

/** Selects the nodes of a workspace, at the head or at a revision, in a locale or as stored. */
export interface NodeSelection {
  readonly workspace: string;
  readonly at?: Revision;
  /** As the caller wrote it. */
  readonly lang?: string;
  /** Paths of the properties to return; absent: the whole node. */
  readonly fields?: readonly string[];
  /** Paths of the properties whose references are expanded; absent: none. */
  readonly expand?: readonly string[];
}

/** A node that the caller may see. */
export interface VisibleNode {
  readonly record: NodeRecord;
  /** The id, if the node was looked up by id; this saves reading it. */
  readonly id?: string;
  /** Whether it has children, if that was looked up before. */
  readonly hasChildren?: boolean | undefined;
}

/** The part of a source that is read. */
export type RowBounds = Pick<ScanRequest, 'after' | 'limit' | 'placesMax' | 'reverse' | 'skip' | 'isPassing'>;

/** A visible node at its position in a source. */
export type VisibleRow = ScanRow;

/**
 * Looks up and renders the nodes of one answer; omits nodes that the caller may not read or that are hidden in the
 * locale. Every listing and query uses this class, so all agree on what is visible.
 */
export class VisibleNodes {
  readonly workspace: string;
  readonly #moment: Moment;
  readonly #state: BranchState;
  readonly #context: QueryContext;
  readonly #reader: TableReader;
  readonly #access: NodeAccess;
  readonly #scope: ReadScope;
  readonly #chain: readonly string[];
  readonly #lang: string | undefined;
  readonly #sees: SeesNode;
  readonly #fields: PropertySelection | undefined;
  readonly #expansion: Expansion | undefined;
  /** Targets of references by workspace, for other workspaces; undefined if the workspace does not exist. */
  readonly #peers = new Map<string, VisibleNodes | undefined>();
  readonly #types = new Map<string, ResolvedNodeType | undefined>();
  readonly #added = new Map<string, AddedFields>();
  /** Counts the work of questions about rows in place. */
  readonly #rowWork: DecisionWork;

  /** @throws {ServiceError} `VALIDATION_FAILED` for a malformed locale */
  constructor(state: BranchState, context: QueryContext, reader: TableReader, selection: NodeSelection) {
    this.#state = state;
    this.#context = context;
    this.#reader = reader;
    this.#moment = new Moment(reader, selection.at);
    this.#rowWork = new DecisionWork((nanoseconds) => context.budget.spend(nanoseconds));
    this.#access = new NodeAccess(context, reader);
    this.#scope = this.#access.scope(selection.workspace);
    this.#chain = selection.lang === undefined ? [] : localeChain(state, selection.lang);
    this.#fields = selection.fields === undefined ? undefined : new PropertySelection(selection.fields);
    this.#expansion =
      selection.expand === undefined
        ? undefined
        : new Expansion(new PropertySelection(selection.expand), (target, bytesMax) =>
            this.#expanded(target, bytesMax),
          );
    this.#lang = selection.lang;
    this.workspace = selection.workspace;
    this.#sees = (name, id) => seenNodes(this.tree, this.#access)(name, id);
  }

  /** The tree of the state that is read. Do not keep it across a pause. */
  get tree(): NodeReader {
    return this.#moment.tree;
  }

  /**
   * The visible nodes of a source in its order.
   *
   * @param where only nodes for which it holds; absent: all
   * @returns as {@link scan}
   */
  *rows(
    source: ScanSource,
    { where, ...bounds }: RowBounds & { readonly where?: RowPredicate } = {},
  ): Generator<VisibleRow | undefined, string | undefined> {
    const chain = this.#chain;
    const isShown: RowPredicate | undefined =
      chain.length === 0 ? undefined : (row) => !row.hasTranslations || !isHidden(row.record(), chain);
    const predicate: RowPredicate | undefined =
      where === undefined || isShown === undefined ? (where ?? isShown) : (row) => where(row) && isShown(row);
    const wanted = predicate === undefined ? {} : { predicate };
    return yield* this.#access.rows(this.#moment, { source, budget: this.budget, ...wanted, ...bounds });
  }

  /** The remaining budget of the request. */
  get budget(): RequestBudget {
    return this.#context.budget;
  }

  /** Whether every stored node is visible, so that nodes can be counted without reading them. */
  get seesAll(): boolean {
    return this.#scope.isAll && this.#chain.length === 0;
  }

  /** Whether a property may be hidden in some nodes: then nothing may depend on its stored values. */
  hides(property: string): boolean {
    return this.#scope.hides?.(property) === true;
  }

  /** Whether some properties of some nodes are hidden. */
  get hidesSome(): boolean {
    return this.#scope.fields !== undefined;
  }

  /**
   * The properties of a row in place that are shown.
   *
   * @returns undefined where the row does not tell
   */
  shownInPlace(row: RecordView): FieldFilter | undefined {
    const { fields } = this.#scope;
    return fields === undefined ? allFields : fields(new ReadableRow(row, this.#rowWork));
  }

  /** The properties of a node that are shown. */
  shownFields(record: NodeRecord): FieldFilter {
    return this.#access.shownFields(this.workspace, record);
  }

  /** Whether another state is read than the present one of the store, so that counters of the head are of no use. */
  get isPast(): boolean {
    return this.#moment.at !== undefined;
  }

  /** See {@link Moment.rest}. */
  rest(): void {
    this.#moment.rest();
  }

  /** As {@link countPlaces}: whether its nodes are visible or not. */
  countPlaces(source: ScanSource, most: number): Generator<undefined, number> {
    return countPlaces(this.#moment, source, most);
  }

  /** As {@link countNodes}: whether they are visible or not. */
  countNodes(
    source: ScanSource,
    holds?: (record: NodeRecord) => boolean,
  ): Generator<undefined, number | undefined> {
    return countNodes(this.#moment, source, holds);
  }

  /** As {@link changedFor}. */
  changedFor(source: ScanSource): Generator<undefined, number | undefined> {
    return changedFor(this.#moment, source);
  }

  /**
   * A node found through an index table. Yields only for a large one.
   *
   * @returns undefined when it is not visible
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  *read(id: string): Generator<undefined, VisibleNode | undefined> {
    const found = this.tree.quickById(this.workspace, id);
    const record = found instanceof LargeValue ? yield* this.tree.byIdInSteps(this.workspace, id) : found;
    assert(record !== undefined, `node ${id} is listed but not stored`);
    return this.visible(record, id);
  }

  /** A stored node, or undefined when it is not visible. @param id if it is known */
  visible(record: NodeRecord, id?: string): VisibleNode | undefined {
    if (!this.#access.mayRead(this.workspace, record)) return undefined;
    if (record.hasTranslations && isHidden(record, this.#chain)) return undefined;
    return id === undefined ? { record } : { record, id };
  }

  /**
   * A manual version as the caller sees it. Yields where the work may pause.
   *
   * @returns undefined when its state may not be read
   */
  *shownVersion(version: ManualVersion): Generator<undefined, ManualVersion | undefined> {
    const { header: stored, properties } = version;
    const state = yield* makeNodeRecordInSteps(stored, properties);
    if (!this.#access.mayRead(this.workspace, state)) return undefined;
    const { record } = yield* this.#access.shown(this.workspace, state);
    const relations = (yield* shownRelations(record, this.#sees))?.relations ?? record.header.relations;
    const hasChildren = version.hasChildren && (yield* this.#hasChildren(stored.id));
    const header = { ...record.header, relations };
    return { ...version, hasChildren, header, properties: yield* record.decode() };
  }

  /** The type of a node; undefined when it has been deleted. */
  type(name: string): ResolvedNodeType | undefined {
    if (!this.#types.has(name)) {
      const schema = schemaAt(this.#state, this.#reader, this.workspace, this.#moment.at);
      this.#types.set(name, schema.nodeType(name));
    }
    return this.#types.get(name);
  }

  /** To be yielded before a large node is rendered. */
  largePiece({ record }: VisibleNode): LargePiece | undefined {
    const { length } = record.bytes;
    return length < LARGE_NODE_BYTES ? undefined : new LargePiece(length);
  }

  /** The expanded nodes in the texts produced so far; the tag of the answer depends on them as well. */
  get expandedMarks(): readonly string[] {
    return this.#expansion?.marks ?? [];
  }

  /**
   * As {@link rows}, for nodes of which each is answered before the next one is taken: by {@link writeAtOnce}, or else from
   * what {@link kept} returns.
   */
  passingRows(
    source: ScanSource,
    bounds: Pick<ScanRequest, 'after' | 'limit' | 'placesMax' | 'skip'> = {},
  ): Generator<VisibleRow | undefined, string | undefined> {
    // Relations are looked up elsewhere than in the node that is answered.
    const readsMore = this.hidesSome && this.#access.policy.needs('read', this.workspace).relations;
    return this.rows(source, { ...bounds, isPassing: this.#isPlain && !readsMore });
  }

  /**
   * Adds a text and the object of a node behind it to an answer, if that needs no pause: most nodes of most answers.
   *
   * @returns whether it did; else the record is still what it was
   */
  writeAtOnce({ hasChildren, id, record }: VisibleRow, before: string, text: TextBytes): boolean {
    if (!this.#isPlain || record.bytes.length >= LARGE_NODE_BYTES || record.hasRelations) return false;
    const { nodeType } = record;
    const added = this.#added.get(nodeType) ?? this.#addedTo(nodeType);
    if (added === undefined) return false;
    // A record that something else would replace comes with what is known of its children.
    const isParent = hasChildren ?? this.tree.hasChildren(this.workspace, id);
    // Which of the children may be read is found out in steps.
    if (isParent && !this.#scope.isAll) return false;
    const shown = this.hidesSome ? this.shownFields(record) : allFields;
    // Those of hidden properties are left out of the translations as well.
    if (!shown.isAll && record.hasTranslations) return false;
    text.add(before);
    if (shown.isAll) writeRecord(record, added, isParent, text);
    else writeRecord(record, added, isParent, text, (name) => shown.has(name));
    return true;
  }

  /** What nodes of a type have besides their stored fields; undefined while the type was not looked up. */
  #addedTo(nodeType: string): AddedFields | undefined {
    if (!this.#types.has(nodeType)) return undefined;
    const added = new AddedFields(this.workspace, derivedTypeText(this.#types.get(nodeType)));
    this.#added.set(nodeType, added);
    return added;
  }

  /** A node of {@link passingRows} that stays as it is when something else is read. */
  kept(row: VisibleRow): VisibleRow {
    const { bytes } = row.record;
    if (row.hasChildren === undefined || bytes.length >= PASSING_BYTES_MAX) return row;
    return { ...row, record: new NodeRecord(Buffer.from(bytes.subarray(0, bytes.length))) };
  }

  /** Yields a text and the object of a node behind it, and before it the length of a large one. */
  *pieces(node: VisibleNode, before: string): Generator<Piece, void> {
    const large = this.largePiece(node);
    if (large !== undefined) yield large;
    yield before + (yield* this.text(node));
  }

  /** Whether the stored fields of nodes are answered as they are, but for relations that are not visible. */
  get #isPlain(): boolean {
    return this.#fields === undefined && this.#expansion === undefined && this.#chain.length === 0;
  }

  /**
   * The node object as JSON text; yields where the work may pause.
   *
   * @param children JSON text of a further field `children`
   */
  text(node: VisibleNode, children?: string): Generator<'', string> {
    return silently(this.#text(node, children));
  }

  /** As {@link text}, for a read that does not answer text in pieces. */
  textInSteps(node: VisibleNode): Generator<undefined, string> {
    return this.#text(node, undefined);
  }

  *#text(
    { hasChildren, id, record: stored }: VisibleNode,
    children: string | undefined,
  ): Generator<undefined, string> {
    const copied = this.#shownCopy(stored);
    const record = copied === undefined ? (yield* this.#access.shown(this.workspace, stored)).record : stored;
    const type = this.type(record.nodeType);
    const facts: RenderFacts = {
      workspace: this.workspace,
      hasChildren: hasChildren !== false && (yield* this.#hasChildren(id ?? record.id, hasChildren)),
      type,
      // A node with selected fields has no relations.
      relations:
        this.#fields === undefined ? (yield* shownRelations(record, this.#sees))?.relations : undefined,
      ...(copied === undefined ? yield* this.#shown(record, type) : { text: copied }),
      ...(children === undefined ? {} : { children }),
    };
    return yield* renderNodeInSteps(record, facts);
  }

  /**
   * The properties that are shown of a node, where some are not, as their stored texts. That costs a fraction of decoding them
   * and making a record of them.
   *
   * @returns undefined where the answer has something else of them, also in translations
   */
  #shownCopy(record: NodeRecord): string | undefined {
    if (!this.hidesSome || !this.#isPlain || record.isLarge || record.hasTranslations) return undefined;
    const shown = this.shownFields(record);
    return shown.isAll ? undefined : `{${record.propertyTexts((name) => shown.has(name))}}`;
  }

  /** @param known whether the node has children at all, if that is known */
  *#hasChildren(id: string, known?: boolean): Generator<undefined, boolean> {
    if (known === true && this.#scope.isAll) return true;
    return yield* this.#access.hasChildren(this.#moment, this.workspace, id);
  }

  /** The properties shown in place of the stored ones, if any. */
  *#shown(
    record: NodeRecord,
    type: ResolvedNodeType | undefined,
  ): Generator<undefined, Pick<RenderFacts, 'properties' | 'text' | 'isPart'>> {
    const properties = yield* localizedProperties(record, this.#chain);
    const expansion = this.#expansion;
    if (this.#fields !== undefined)
      return { text: yield* selectedText(this.#fields, record, properties, type, expansion), isPart: true };
    if (expansion !== undefined)
      return { text: yield* expansion.text(properties ?? (yield* record.decode())) };
    return properties === undefined ? {} : { properties };
  }

  /** The target of a reference, in the form of this answer, without its own references expanded. */
  *#expanded(
    { ref, workspace }: ReferenceTarget,
    bytesMax: number,
  ): Generator<undefined, (ExpandedNode & { readonly bytes: number }) | undefined> {
    this.budget.spend(EXPAND_WORK);
    const peer = isNodeId(ref) ? this.#peer(workspace ?? this.workspace) : undefined;
    const record = yield* targetIn(peer, ref, bytesMax);
    if (peer === undefined || record === undefined) return undefined;
    if (peer.visible(record) === undefined) return undefined;
    const tag = yield* peer.#tag(record);
    return { text: yield* peer.#text({ record, id: ref }, undefined), tag, bytes: record.bytes.length };
  }

  *#tag(stored: NodeRecord): Generator<undefined, string> {
    const { mark, record } = yield* this.#access.shown(this.workspace, stored);
    const relations = yield* shownRelations(record, this.#sees, this.#access.marked(record));
    const hasChildren = yield* this.#hasChildren(record.id);
    return nodeTag(
      record.revision,
      this.type(record.nodeType),
      hasChildren,
      joinedMark(relations?.mark, mark),
    );
  }

  #peer(workspace: string): VisibleNodes | undefined {
    if (!this.#peers.has(workspace)) {
      const { asked } = this.#moment;
      const at = asked === undefined ? {} : { at: asked };
      const lang = this.#lang === undefined ? {} : { lang: this.#lang };
      const peer = this.#state.hasWorkspace(workspace)
        ? new VisibleNodes(this.#state, this.#context, this.#reader, { workspace, ...at, ...lang })
        : undefined;
      // The caller chooses the workspace names: there may be as many as references.
      this.#peers.set(workspace, peer);
    }
    return this.#peers.get(workspace);
  }
}

/** The target of a reference. @returns undefined when there is none, or its record is longer than `bytesMax` */
function* targetIn(
  peer: VisibleNodes | undefined,
  id: string,
  bytesMax: number,
): Generator<undefined, NodeRecord | undefined> {
  const found = peer?.tree.quickById(peer.workspace, id);
  if (peer === undefined || found === undefined) return undefined;
  // Of a tree of an earlier revision it may be another state.
  if (found instanceof LargeValue && peer.tree instanceof HeadNodeReader && found.length > bytesMax)
    return undefined;
  const record = found instanceof LargeValue ? yield* peer.tree.byIdInSteps(peer.workspace, id) : found;
  return record === undefined || record.bytes.length > bytesMax ? undefined : record;
}
