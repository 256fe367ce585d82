import type { BranchTables, LentBranch } from '#actors/branch/sql/branch-tables.ts';
import { NodeTables } from '#actors/branch/sql/node-tables.ts';
import type { AccessPath } from '#actors/branch/sql/tables/access-path.ts';
import { TreePaths } from '#actors/branch/sql/tables/find-paths.ts';
import { IndexPaths } from '#actors/branch/sql/tables/index-paths.ts';
import { NodeScan, type RowUse } from '#actors/branch/sql/tables/node-scan.ts';
import { NodeTable } from '#actors/branch/sql/tables/node-table.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { assert } from '#runtime/base/assert.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { TableAccess, TableRead, WantedColumn } from '#runtime/sql-exec/ports.ts';
import type { NodesPlan, SchemaPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { type NodeColumn, nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { columnAt, nodesPlan } from './bound-expressions.ts';
import { administrator, type BranchFixture, WORKSPACE } from './branch-fixture.ts';
import { stepped } from './stepped.ts';

/** How the tables of a branch are opened. */
export interface TableSetup {
  readonly caller?: Caller;
  readonly at?: Revision;
  /** What the reader of the branch is wrapped in. */
  readonly over?: (reader: TableReader) => TableReader;
}

/** What is asked of a table; what is absent is nothing, and the table `WORKSPACE`. */
export type Asked = Partial<TableRead> & { readonly plan?: Partial<NodesPlan> };

/** The rows of a table, and how they were found. */
export interface Read {
  readonly rows: readonly Row[];
  readonly access: TableAccess;
}

/** A way to find the nodes of a table. */
export interface Way {
  readonly path: AccessPath;
  /** All rows. */
  readonly rows: readonly Row[];
  /** Those among which the first of the order are, as many as are wanted. */
  readonly first: readonly Row[];
}

/** The tables of a branch as a statement reads them. */
export class OpenTables {
  readonly execution: Execution;
  readonly #branch: BranchTables;
  readonly #tables: NodeTables;
  readonly #close: () => void;

  constructor(branch: BranchFixture, { at, caller = administrator, over = (reader) => reader }: TableSetup) {
    const lent = branch.ask({ type: 'LendBranch', principal: caller.principal }, engineCaller('acme'));
    const { context: lender, state } = lent as LentBranch;
    const context = { caller, budget: lender.budget };
    const snapshot = lender.pin();
    this.#close = () => snapshot.close();
    this.execution = new Execution(context.budget);
    const tables: BranchTables = {
      state,
      context,
      reader: over(snapshot),
      schemas: state.querySchemas,
      moment: at,
      other: () => assert(false, 'no other branch is read') as never,
    };
    this.#branch = tables;
    this.#tables = new NodeTables(tables, this.execution);
  }

  access({ plan, ...asked }: Asked): TableAccess {
    const read = {
      table: nodesPlan(WORKSPACE, plan),
      wanted: [],
      conditions: [],
      order: [],
      limit: undefined,
    };
    return stepped(this.#tables.choose({ ...read, ...asked })).value;
  }

  /** All rows, or the first `limit`. */
  read(asked: Asked): Read {
    const access = this.access(asked);
    return { access, rows: this.rows(access, asked.limit) };
  }

  /** Every way to find the nodes of a table, whatever it costs. */
  every({ plan, ...asked }: Asked): readonly Way[] {
    const read = { wanted: [], conditions: [], order: [], limit: undefined, ...asked };
    const table = new NodeTable(
      this.#branch,
      nodesPlan(WORKSPACE, plan),
      read.conditions,
      this.execution,
      this.#branch.moment,
    );
    stepped(table.findTargets());
    const paths = [
      ...stepped(new IndexPaths(table, read).all()).value,
      ...stepped(new TreePaths(table, read.order).all()).value,
    ];
    return paths.map((path) => {
      const use = { ...read, isOrdered: read.order.length > 0 && path.isOrdered };
      const opened = (given: RowUse): Pick<TableAccess, 'open'> => ({
        open: () => new NodeScan(table, path.source, table.conditions, read.wanted, given),
      });
      return { path, rows: this.rows(opened({})), first: this.rows(opened(use)) };
    });
  }

  rows(access: Pick<TableAccess, 'open'>, most: number = Number.POSITIVE_INFINITY): readonly Row[] {
    const operator = access.open();
    const rows: Row[] = [];
    try {
      while (rows.length < most) {
        const batch = stepped(operator.next()).value;
        if (batch === undefined) break;
        rows.push(...batch);
      }
      return rows.slice(0, most);
    } finally {
      operator.close();
    }
  }

  schema(table: SchemaPlan, asked: Partial<TableRead> = {}): Read {
    const wanted = table.columns.map(
      (each, at): WantedColumn => ({ kind: 'column', column: at, type: each.type }),
    );
    return this.read({ table, wanted, ...asked });
  }

  close(): void {
    this.#close();
  }
}

/** Reads tables of a branch, and closes them. */
export function withTables<T>(branch: BranchFixture, setup: TableSetup, use: (tables: OpenTables) => T): T {
  const tables = new OpenTables(branch, setup);
  try {
    return use(tables);
  } finally {
    tables.close();
  }
}

/** A column as a slot of rows. */
export function wanted(name: NodeColumn): WantedColumn {
  const at = columnAt(name);
  return { kind: 'column', column: at, type: nodeColumns[at]!.type };
}

/** A key to sort by. */
export function by(slot: NodeColumn | WantedColumn, isDescending = false): TableRead['order'][number] {
  const column = typeof slot === 'string' ? wanted(slot) : slot;
  return { wanted: column, isDescending, nullsFirst: isDescending };
}
