import type { WrittenColumn } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import type { InsertedColumn, UpdatedColumn } from '../../bound/bound-change.ts';
import { type NodeColumn, nodeColumns } from '../../node-columns.ts';
import { plainColumnName } from '../scopes/name-scope.ts';
import { setPropertyHint, suggestion } from '../scopes/name-suggestions.ts';
import type { StatementBinding } from '../statement-binding.ts';

const updatedColumns: readonly UpdatedColumn[] = [
  'path',
  'name',
  'archetype',
  'properties',
  'translations',
  'owner_id',
];

const insertedColumns: readonly InsertedColumn[] = ['id', 'node_type', ...updatedColumns];

const requiredColumns = ['path', 'node_type'] as const satisfies readonly InsertedColumn[];

/**
 * The columns that an INSERT or UPSERT writes.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for one that is unknown, not to be written, missing, or there twice
 */
export function columnsToInsert(
  written: readonly WrittenColumn[],
  table: string,
  binding: StatementBinding,
): readonly InsertedColumn[] {
  const columns = written.map((column) => {
    const name = knownColumn(column, table, insertedColumns, binding);
    if (isOneOf(insertedColumns, name)) return name;
    throw binding.error(`Column '${name}' cannot be inserted: the server sets it`, column.span);
  });
  requireDistinct(columns, written, 'is named', binding);
  const missing = requiredColumns.find((name) => !columns.includes(name));
  const place = written[0];
  if (missing === undefined) return columns;
  const text = `Required column '${missing}' is missing`;
  throw binding.error(text, place?.span ?? { start: 0, end: 0 });
}

/**
 * The columns that an UPDATE writes.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for one that is unknown, not to be changed, or there twice
 */
export function columnsToUpdate(
  written: readonly WrittenColumn[],
  table: string,
  binding: StatementBinding,
): readonly UpdatedColumn[] {
  const columns = written.map((column) => {
    const name = knownColumn(column, table, updatedColumns, binding);
    if (isOneOf(updatedColumns, name)) return name;
    const text =
      name === 'node_type'
        ? 'Cannot change node_type after creation'
        : name === 'id'
          ? `Column 'id' is not assignable: a node keeps its id`
          : `Column '${name}' is not assignable: the server sets it`;
    throw binding.error(text, column.span);
  });
  requireDistinct(columns, written, 'is assigned', binding);
  return columns;
}

/** The column of a workspace that a name means. */
function knownColumn(
  { name, span }: WrittenColumn,
  table: string,
  writable: readonly string[],
  binding: StatementBinding,
): NodeColumn {
  const plain = plainColumnName(name);
  const found = nodeColumns.find((column) => column.name === plain);
  if (found !== undefined) return found.name;
  const similar = suggestion(name, writable) || setPropertyHint(name);
  throw binding.error(`Column not found: ${table}.${name}${similar}`, span);
}

function requireDistinct(
  columns: readonly string[],
  written: readonly WrittenColumn[],
  verb: string,
  binding: StatementBinding,
): void {
  for (const [index, column] of columns.entries()) {
    if (columns.indexOf(column) === index) continue;
    throw binding.error(`Column '${column}' ${verb} more than once`, written[index]!.span);
  }
}

function isOneOf<T extends string>(names: readonly T[], name: string): name is T {
  return (names as readonly string[]).includes(name);
}
