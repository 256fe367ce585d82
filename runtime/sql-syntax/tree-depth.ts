import type { Statement } from './nodes/statement-nodes.ts';
import { sqlError } from './sql-error.ts';
import type { SyntaxNode } from './syntax-node.ts';
import { childrenOf } from './visitor.ts';

/**
 * Most nodes from the statement down to any node. Everything behind the parser walks through trees by recursion; a
 * test does so at this depth. Long chains of AND and OR are balanced, so that it bounds chains of other operators,
 * as of `||`, UNION and JOIN.
 */
export const TREE_DEPTH_MAX = 400;

/**
 * Checks the depth of a tree, without a recursion of its own.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` at the first node that is too deep
 */
export function checkTreeDepth(statement: Statement, source: string): void {
  let level: readonly SyntaxNode[] = [statement];
  for (let depth = 1; level.length > 0; depth += 1) {
    const [first] = level;
    if (depth > TREE_DEPTH_MAX && first !== undefined) {
      throw sqlError(`Statement nests too deeply: more than ${TREE_DEPTH_MAX} levels`, source, first.span);
    }
    const next: SyntaxNode[] = [];
    for (const node of level) {
      // Lists may have thousands of constants, which have no children. Only those at the bound matter.
      for (const child of childrenOf(node))
        if (!isConstant(child) || depth >= TREE_DEPTH_MAX) next.push(child);
    }
    level = next;
  }
}

function isConstant({ kind }: SyntaxNode): boolean {
  return kind === 'literal' || kind === 'parameter';
}
