import type { Assignment, DataStatement, ReturningClause } from './nodes/data-nodes.ts';
import type { Expression } from './nodes/syntax-nodes.ts';
import { printExpression, printItem, printQuery } from './printer.ts';
import { printName, type PrintersOf, printWorkspace } from './print-words.ts';

function printReturning(clause: ReturningClause | undefined): string {
  return clause === undefined ? '' : ` RETURNING ${clause.items.map(printItem).join(', ')}`;
}

function printWhere(where: Expression | undefined): string {
  return where === undefined ? '' : ` WHERE ${printExpression(where)}`;
}

function printAssignment({ column, value }: Assignment): string {
  return `${printName(column.name)} = ${printExpression(value)}`;
}

/** How statements that write rows are printed. */
export const dataPrinters: PrintersOf<DataStatement['kind']> = {
  insert: (node) => {
    const columns = node.columns.map((column) => printName(column.name)).join(', ');
    const verb = node.isUpsert ? 'UPSERT' : 'INSERT';
    const rest = `${printQuery(node.source)}${printReturning(node.returning)}`;
    return `${verb} INTO ${printWorkspace(node.table)} (${columns}) ${rest}`;
  },
  update: (node) => {
    const assignments = node.assignments.map(printAssignment).join(', ');
    const rest = `${printWhere(node.where)}${printReturning(node.returning)}`;
    return `UPDATE ${printWorkspace(node.table)} SET ${assignments}${rest}`;
  },
  delete: (node) =>
    `DELETE FROM ${printWorkspace(node.table)}${printWhere(node.where)}${printReturning(node.returning)}`,
};
