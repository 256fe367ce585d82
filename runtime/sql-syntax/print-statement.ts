import type { Statement } from './nodes/statement-nodes.ts';
import { accessPrinters } from './print-access.ts';
import { branchPrinters } from './print-branch.ts';
import { dataPrinters } from './print-data.ts';
import { schemaPrinters } from './print-schema.ts';
import { treePrinters } from './print-tree.ts';
import type { PrintersOf } from './print-words.ts';
import { printQuery } from './printer.ts';

const printers: PrintersOf<Statement['kind']> = {
  ...dataPrinters,
  ...treePrinters,
  ...schemaPrinters,
  ...branchPrinters,
  ...accessPrinters,
  'query-statement': (node) => printQuery(node.query),
  explain: (node) => {
    const { statement } = node;
    const options = `${node.isAnalyze ? 'ANALYZE ' : ''}${node.isVerbose ? 'VERBOSE ' : ''}`;
    return `EXPLAIN ${options}${statement.kind === 'query' ? printQuery(statement) : printStatement(statement)}`;
  },
};

/**
 * The text of a statement: reading it gives the same tree again, but for the places. Keywords are in upper case, all is
 * on one line, and parentheses stand only where the tree would be another without them.
 */
export function printStatement(statement: Statement): string {
  return printers[statement.kind](statement as never);
}
