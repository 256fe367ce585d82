import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { TableAccess, TableRead, Tables } from '#runtime/sql-exec/ports.ts';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import type { BranchTables } from './branch-tables.ts';
import { readMoment } from './read-moment.ts';
import { choosePath } from './tables/choose-path.ts';
import { TreePaths } from './tables/find-paths.ts';
import { IndexPaths } from './tables/index-paths.ts';
import { findLookup, type OpenTable } from './tables/key-lookup.ts';
import { NodeScan } from './tables/node-scan.ts';
import { NodeTable } from './tables/node-table.ts';
import { schemaAccess } from './tables/schema-table.ts';

/**
 * The tables of a branch as the caller of a statement may see them: what may not be read is not there, and hidden properties
 * are absent, before any condition looks at them.
 */
export class NodeTables implements Tables {
  readonly #tables: BranchTables;
  readonly #execution: Execution;

  /** @param execution of the statement: conditions are evaluated and rows are made in it */
  constructor(tables: BranchTables, execution: Execution) {
    this.#tables = tables;
    this.#execution = execution;
  }

  /**
   * @throws {ServiceError} `BRANCH_NOT_FOUND`, `REVISION_NOT_FOUND`, `INVALID_REVISION_NUMBER`, `WORKSPACE_NOT_FOUND`,
   *   `VALIDATION_FAILED` for a malformed locale; of a table of the schema `UNAUTHORIZED`, `FORBIDDEN`
   */
  *choose(read: TableRead): Generator<undefined, TableAccess> {
    const { table } = read;
    const { branch } = table;
    const tables = branch === undefined ? this.#tables : yield* this.#tables.other(branch);
    const at = readMoment(tables, table.revision);
    if (table.kind === 'schema') return schemaAccess(tables, table, read, this.#execution, at);
    const execution = this.#execution;
    const openTable: OpenTable = function* (conditions) {
      const nodes = new NodeTable(tables, table, conditions, execution, at);
      yield* nodes.findTargets();
      return nodes;
    };
    const nodes = yield* openTable(read.conditions);
    const tree = yield* new TreePaths(nodes, read.order).all();
    const paths = [...(yield* new IndexPaths(nodes, read).all()), ...tree];
    const { cost, path, rows } = yield* choosePath(nodes, paths, read);
    const { exact, facts, isOrdered, name, shape, sortedBy, source } = path;
    return {
      description: facts === '' ? name : `${name}: ${facts}`,
      shape: shape === '' ? name : `${name}: ${shape}`,
      rows,
      cost,
      indexed: exact,
      isOrdered: read.order.length > 0 && isOrdered,
      sortedBy: sortedBy && nodeColumns.findIndex(({ name }) => name === sortedBy),
      lookUp: (key) => findLookup(read, key, openTable),
      open: () => new NodeScan(nodes, source, nodes.conditions, read.wanted, { ...read, isOrdered }),
    };
  }
}
