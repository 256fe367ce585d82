import type { RelationDirection } from '../ports.ts';
import type { ArithmeticOperator } from '../values/arithmetic.ts';
import type { RelValue } from '../values/rel-value.ts';

/** The operators that compare two values. */
export type ComparisonOperator = '==' | '!=' | '<' | '>' | '<=' | '>=';

/** Each part of a condition knows where it stands in the text: the place of its operator or of its first character. */
interface Placed {
  readonly at: number;
}

/** `null`, `5`, `'a'`, `[1, 2]`, `{a: 1}`. */
export interface Literal extends Placed {
  readonly kind: 'literal';
  readonly value: RelValue;
}

/** A name at the start of an operand: `auth`, `node`, or one that means nothing. */
export interface RootName extends Placed {
  readonly kind: 'root';
  readonly name: string;
}

/** `of.name` */
export interface Member extends Placed {
  readonly kind: 'member';
  readonly of: Expression;
  readonly name: string;
}

/** `of[index]` */
export interface Index extends Placed {
  readonly kind: 'index';
  readonly of: Expression;
  readonly index: Expression;
}

/** `of.method(arguments)` */
export interface Call extends Placed {
  readonly kind: 'call';
  readonly of: Expression;
  readonly method: string;
  readonly arguments: readonly Expression[];
}

/** `!of`, `-of` */
export interface Unary extends Placed {
  readonly kind: 'not' | 'negate';
  readonly of: Expression;
}

/** `left + right` and so on. */
export interface Arithmetic extends Placed {
  readonly kind: 'arithmetic';
  readonly operator: ArithmeticOperator;
  readonly left: Expression;
  readonly right: Expression;
}

/** `left == right` and so on. */
export interface Comparison extends Placed {
  readonly kind: 'comparison';
  readonly operator: ComparisonOperator;
  readonly left: Expression;
  readonly right: Expression;
}

/** `a && b && c` (`all`), `a || b || c` (`any`); at least two items. */
export interface Junction extends Placed {
  readonly kind: 'all' | 'any';
  readonly items: readonly Expression[];
}

/** `from RELATES to VIA types DEPTH depthMin..depthMax DIRECTION direction` */
export interface Relates extends Placed {
  readonly kind: 'relates';
  readonly from: Expression;
  readonly to: Expression;
  readonly types: readonly string[];
  readonly depthMin: number;
  readonly depthMax: number;
  readonly direction: RelationDirection;
}

/** The syntax tree of a condition. */
export type Expression =
  | Literal
  | RootName
  | Member
  | Index
  | Call
  | Unary
  | Arithmetic
  | Comparison
  | Junction
  | Relates;
