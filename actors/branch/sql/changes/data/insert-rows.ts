import { parentPath } from '#runtime/content/path.ts';
import type { BoundInsert } from '#runtime/sql-plan/bound/bound-change.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../../../edit-scope.ts';
import { insertNode } from '../../../nodes/create-node.ts';
import type { StatementResult } from '../change-context.ts';
import { orConflict } from '../taken-path.ts';
import { answerOf, type DataChange, ofRow, returnedRows } from './data-change.ts';
import { updateFields } from './update-fields.ts';
import { insertedFields, unwrappedProperties, type WrittenFields } from './written-fields.ts';

/** Rows that are taken from a statement without counting their memory, which the statement has already. */
const GIVEN_ROWS_MAX = 16;

type InsertedFields = ReturnType<typeof insertedFields>;

/** A node that a row has written. */
interface Written {
  readonly id: string;
  readonly isNew: boolean;
}

/**
 * INSERT: creates a node for each row, in their order, with the initial structure of its type. UPSERT: of a row at whose path
 * there is a node, the given columns are written to it; other rows create nodes without an initial structure. Later rows see
 * the nodes of earlier ones.
 *
 * @throws {ServiceError} as creating and updating nodes does: `NODE_ALREADY_EXISTS`, `NODE_NOT_FOUND` for a missing parent,
 *   `VALIDATION_FAILED`, `PERMISSION_DENIED`, `COMMIT_TOO_LARGE`
 * @see docs/interface/sql-writes.md
 */
export function* insertRows(change: DataChange, bound: BoundInsert): Generator<undefined, StatementResult> {
  const { edit, queries } = change;
  const rows = givenRows(bound) ?? (yield* queries.rows(bound.rows)).rows;
  edit.checkSize(rows.length);
  const written: Written[] = [];
  for (const [index, row] of rows.entries()) {
    try {
      written.push(yield* writeRow(edit, bound, row));
    } catch (error) {
      throw rows.length === 1 ? error : ofRow(error, index + 1);
    }
    if (index < rows.length - 1) yield;
  }
  const ids = written.map(({ id }) => id);
  const { returning } = bound;
  const returned = returning === undefined ? [] : yield* returnedRows(queries, returning, ids);
  return answerOf(bound, returned, ids, messageOf(bound, written));
}

/** The rows, where few are given and all values are known: a query for them would cost as much as the write. */
function givenRows({ rows: { query } }: BoundInsert): readonly Row[] | undefined {
  const { output, plan } = query;
  if (plan.kind !== 'values' || plan.rows.length > GIVEN_ROWS_MAX || plan.columns.length !== output.length)
    return undefined;
  const isWhole = output.every(
    ({ expression }, index) =>
      expression.kind === 'column' && expression.relation === plan.relation && expression.column === index,
  );
  if (!isWhole) return undefined;
  const rows: Row[] = [];
  for (const row of plan.rows) {
    const values: SqlValue[] = [];
    for (const field of row) {
      if (field.kind !== 'constant') return undefined;
      values.push(field.value);
    }
    rows.push(values);
  }
  return rows;
}

function messageOf({ isUpsert }: BoundInsert, written: readonly Written[]): string {
  const [only, ...others] = written;
  if (only !== undefined && others.length === 0)
    return `${only.isNew ? 'Created' : 'Updated'} node: ${only.id}`;
  return isUpsert ? 'SQL UPSERT' : 'SQL INSERT';
}

function* writeRow(
  edit: EditScope,
  { columns, isUpsert, workspace }: BoundInsert,
  row: Row,
): Generator<undefined, Written> {
  const fields = unwrapped(edit, workspace, insertedFields(columns, row));
  const present = isUpsert ? yield* readableAt(edit, workspace, fields.path) : undefined;
  if (present === undefined) return yield* create(edit, workspace, fields, isUpsert);
  yield* overwrite(edit, workspace, present, fields);
  return { id: present.id, isNew: false };
}

function unwrapped(edit: EditScope, workspace: string, fields: InsertedFields): InsertedFields {
  const { nodeType, properties } = fields;
  if (properties === undefined) return fields;
  const type = edit.schema(workspace).nodeType(nodeType);
  return { ...fields, properties: unwrappedProperties(properties, type) };
}

function* create(
  edit: EditScope,
  workspace: string,
  { archetype, id, name, nodeType, ownerId, path, properties, translations }: InsertedFields,
  isBare: boolean,
): Generator<undefined, Written> {
  const node = {
    name,
    nodeType,
    properties: properties ?? {},
    ...(id === undefined ? {} : { id }),
    ...(archetype === undefined ? {} : { archetype }),
    ...(translations === undefined ? {} : { translations }),
    ...(ownerId === undefined ? {} : { ownerId }),
  };
  const record = yield* orConflict(insertNode(edit, workspace, parentPath(path), node, { isBare }));
  return { id: record.id, isNew: true };
}

/**
 * The node at a path, if the caller may read it. A node that may not be read is treated as none: then creating it is refused
 * as for everybody who may not create it there, or because the path is taken.
 */
function* readableAt(
  edit: EditScope,
  workspace: string,
  path: string,
): Generator<undefined, NodeRecord | undefined> {
  const record = yield* edit.head.byPathInSteps(workspace, path);
  return record !== undefined && edit.access.mayRead(workspace, record) ? record : undefined;
}

/** Writes the given columns to a node, which keeps its id. */
function* overwrite(
  edit: EditScope,
  workspace: string,
  present: NodeRecord,
  given: InsertedFields,
): Generator<undefined, void> {
  const { id: _id, name: _name, nodeType, path: _path, ...fields }: WrittenFields = given;
  yield* updateFields(edit, workspace, present, { ...fields, ...(nodeType === undefined ? {} : { nodeType }) });
}
