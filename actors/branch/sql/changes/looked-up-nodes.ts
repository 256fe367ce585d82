import type { Execution } from '#runtime/sql-exec/execution.ts';
import type { TableAccess, TableRead, Tables } from '#runtime/sql-exec/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import type { BranchTables } from '../branch-tables.ts';
import { NodeScan } from '../tables/node-scan.ts';
import { NodeTable } from '../tables/node-table.ts';

/**
 * The nodes of a workspace with certain ids, as a table. The ids are known, so no access path is looked for: for one node that
 * search takes longer than the rest of the statement.
 */
export class LookedUpNodes implements Tables {
  readonly #tables: BranchTables;
  readonly #execution: Execution;
  readonly #ids: readonly string[];

  constructor(tables: BranchTables, execution: Execution, ids: readonly string[]) {
    this.#tables = tables;
    this.#execution = execution;
    this.#ids = ids;
  }

  /** @throws {ServiceError} `WORKSPACE_NOT_FOUND` */
  *choose({ conditions, table, wanted }: TableRead): Generator<undefined, TableAccess> {
    assert(table.kind === 'nodes', 'only nodes have ids');
    const nodes = new NodeTable(this.#tables, table, conditions, this.#execution, this.#tables.moment);
    yield* nodes.findTargets();
    const source = { kind: 'ids', ids: this.#ids } as const;
    return {
      description: 'PrimaryKeyScan',
      shape: 'PrimaryKeyScan',
      rows: this.#ids.length,
      cost: 0,
      indexed: [],
      isOrdered: false,
      open: () => new NodeScan(nodes, source, nodes.conditions, wanted),
    };
  }
}
