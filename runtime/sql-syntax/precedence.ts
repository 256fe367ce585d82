import type { BinaryNode } from './nodes/syntax-nodes.ts';

/** How tightly operators bind: the higher the tighter. The levels are those of the dialect's documentation. */
export const Precedence = {
  or: 1,
  and: 2,
  not: 3,
  /** IS, LIKE, ILIKE, IN and BETWEEN. */
  predicate: 4,
  comparison: 5,
  match: 6,
  containment: 7,
  concatenation: 9,
  sum: 10,
  product: 11,
  sign: 12,
  extraction: 13,
  subscript: 14,
  cast: 15,
  /** What needs no parentheses anywhere. */
  primary: 16,
} as const;

/** The level of each binary operator. Operators of one level associate to the left. */
export const binaryPrecedence: Readonly<Record<BinaryNode['operator'], number>> = {
  OR: Precedence.or,
  AND: Precedence.and,
  '=': Precedence.comparison,
  '<>': Precedence.comparison,
  '<': Precedence.comparison,
  '<=': Precedence.comparison,
  '>': Precedence.comparison,
  '>=': Precedence.comparison,
  '@@': Precedence.match,
  '@>': Precedence.containment,
  '<@': Precedence.containment,
  '?': Precedence.containment,
  '?|': Precedence.containment,
  '?&': Precedence.containment,
  '#-': Precedence.containment,
  '@?': Precedence.containment,
  '||': Precedence.concatenation,
  '+': Precedence.sum,
  '-': Precedence.sum,
  '*': Precedence.product,
  '/': Precedence.product,
  '%': Precedence.product,
  '->': Precedence.extraction,
  '->>': Precedence.extraction,
  '#>': Precedence.extraction,
  '#>>': Precedence.extraction,
};

/** The operators that may stand before ANY and ALL. */
export const comparisons: ReadonlySet<string> = new Set(['=', '<>', '<', '<=', '>', '>=']);
