import { ROOT_ID, isNodeId } from '#runtime/content/content-node.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import type { WantedColumn } from '#runtime/sql-exec/ports.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { QueryStatement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { knownStatements } from '#runtime/sql-syntax/parse-statements.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { quoted } from '#runtime/tree/record/quoted.ts';
import type { BranchState } from '../../branch-state.ts';
import { readsWhole } from '../../reads/node-access.ts';
import type { RunSql } from '../../sql-messages.ts';
import { endOfAnswer } from '../answer-end.ts';
import { knownQuery } from '../kept-bindings.ts';
import type { StatementWatch } from '../statement-watch.ts';
import { isPath } from '../tables/find-paths.ts';
import { propertyAsText } from '../tables/property-text.ts';
import { SEPARATOR } from '../tables/tree-orders.ts';
import { type PointPlan, pointPlanOf } from './point-plan.ts';
import { keyOf, LOOK_UP_WORK, pointPlanText, rowWork } from './point-read.ts';
import type { StoredFacts } from './stored-columns.ts';

/** Longest row that is written here, in bytes of the record for each column that has content of it. */
const CONTENT_BYTES_MAX = 262_144;

/** Estimated nanoseconds of a property, and for each byte of the record in which it is looked for. */
const PROPERTY_WORK = 500;
const SEARCHED_BYTE_WORK = 0.5;

/** Most nodes above one that are looked up for its place in the tree. */
const ANCESTORS_MAX = 8;

/**
 * The answer of a text that is one query for one node, and that was bound before: written from the stored bytes within this turn,
 * without a pause. It is the same as that of the general way.
 *
 * @param scope of the text, without its caller: what is kept asks for none
 * @returns undefined: the general way has to answer. Some property may be hidden, the node has relations or is large, or it is not
 *   the head in the default language that is read
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`, `DATA_CORRUPTED`
 */
export function pointAnswer(
  state: BranchState,
  context: QueryContext,
  { at, sql }: RunSql,
  scope: StatementScope,
  watch: StatementWatch,
): JsonText | undefined {
  if (at !== undefined) return undefined;
  const statement = onlyQuery(sql);
  const kept = statement && knownQuery(statement.query, scope);
  const plan = kept?.template && pointPlanOf(kept.template);
  if (statement === undefined || kept === undefined || plan === undefined) return undefined;
  const { table } = plan;
  if (table.locales !== undefined || table.revision !== undefined) return undefined;
  const { caller } = context;
  if (!readsWhole(caller.policy, table.workspace)) return undefined;
  const key = keyOf(plan, kept.values);
  if (key === undefined) return undefined;
  let rows = 0;
  const text = watch.runNow(
    statement,
    caller,
    () => {
      const row = new PointRow(state, context, plan).text(key);
      if (row !== undefined && row !== '') rows = 1;
      return row;
    },
    () => ({ rows, plan: () => pointPlanText(plan) }),
  );
  return text === undefined ? undefined : new JsonText(plan.head + text + endOfAnswer(rows, watch.elapsedMs));
}

/** Not the method of arrays, which would copy the text before it is written. */
function joined(pieces: readonly string[], between: string): string {
  return pieces.reduce((text, piece) => text + between + piece);
}

function onlyQuery(sql: string): QueryStatement | undefined {
  const statements = knownStatements(sql);
  if (statements === undefined || statements.length > 1) return undefined;
  const [{ statement }] = statements as [(typeof statements)[number]];
  return statement.kind === 'query-statement' ? statement : undefined;
}

/** The row of one look-up. */
class PointRow {
  readonly #state: BranchState;
  readonly #plan: PointPlan;
  readonly #execution: Execution;
  readonly #tree: HeadNodeReader;

  constructor(state: BranchState, context: QueryContext, plan: PointPlan) {
    this.#state = state;
    this.#plan = plan;
    this.#execution = new Execution(context.budget);
    this.#tree = new HeadNodeReader(context.view);
  }

  /** @returns empty where there is no node; undefined: the general way has to answer */
  text(key: string): string | undefined {
    const { columns, contents, needs } = this.#plan;
    this.#execution.spend(LOOK_UP_WORK);
    // Before the node, because they may be read from the store.
    const facts = this.#facts();
    const record = this.#look(key);
    if (record === undefined) return '';
    // Which relations are shown depends on their targets.
    if (record instanceof LargeValue || record.isLarge || record.hasRelations) return undefined;
    if (contents * record.bytes.length > CONTENT_BYTES_MAX) return undefined;
    this.#execution.spend(rowWork(columns.length, record.bytes.length));
    const { orderKey, parentId } = record;
    const pieces = this.#pieces(record, facts);
    if (!needs.columns.has('__tree_order')) return pieces[0] as string;
    // Behind the row, because its bytes are those of the last look-up.
    const place = this.#placeOf(orderKey, parentId);
    return place && joined(pieces, quoted(place));
  }

  /** The node, over bytes that are valid until the next look-up. */
  #look(key: string): NodeRecord | LargeValue | undefined {
    const { by, table } = this.#plan;
    const { workspace } = table;
    if (by === 'id') return isNodeId(key) ? this.#tree.peekById(workspace, key) : undefined;
    const id = isPath(key) ? this.#tree.idAt(workspace, key) : undefined;
    return id === undefined ? undefined : this.#tree.peekById(workspace, id);
  }

  /** The text of the row in pieces, between which the place in the tree stands. */
  #pieces(record: NodeRecord, facts: StoredFacts): readonly string[] {
    const pieces: string[] = [];
    let text = '';
    for (const { isTreeOrder, opening, stored, wanted } of this.#plan.columns) {
      text += opening;
      if (isTreeOrder) {
        pieces.push(text);
        text = '';
      } else if (stored !== undefined) text += stored(record, facts);
      else if (wanted.kind === 'property') text += this.#property(record, wanted);
    }
    pieces.push(`${text}}`);
    return pieces;
  }

  #facts(): StoredFacts {
    const state = this.#state;
    const isOfLocale = this.#plan.needs.columns.has('locale');
    return {
      branch: JSON.stringify(state.name),
      locale: isOfLocale ? JSON.stringify(state.languages().defaultLanguage) : '',
    };
  }

  /** The JSON of one property, as it is stored or as a text. */
  #property(record: NodeRecord, { isText, key }: Extract<WantedColumn, { kind: 'property' }>): string {
    this.#execution.spendOnCall(PROPERTY_WORK + record.bytes.length * SEARCHED_BYTE_WORK);
    if (!isText) return record.propertyText(key) ?? 'null';
    return quoted(propertyAsText(record.property(key), this.#execution) as string | null);
  }

  /** As `TreeOrders`. @returns undefined for a node that has many above it, or a large one */
  #placeOf(orderKey: string, parentId: string): string | undefined {
    let place = orderKey;
    let above = parentId;
    for (let looked = 0; above !== ROOT_ID; looked += 1) {
      if (looked === ANCESTORS_MAX) return undefined;
      const parent = this.#tree.peekById(this.#plan.table.workspace, above);
      if (parent === undefined || parent instanceof LargeValue) return undefined;
      place = `${parent.orderKey}${SEPARATOR}${place}`;
      above = parent.parentId;
    }
    return place;
  }
}
