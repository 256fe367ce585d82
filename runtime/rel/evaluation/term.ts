import type { RelationDirection } from '../ports.ts';
import type { ComparisonOperator } from '../syntax/expression.ts';
import type { ArithmeticOperator } from '../values/arithmetic.ts';
import type { Method } from '../values/methods.ts';
import type { RelValue } from '../values/rel-value.ts';
import type { Fault } from './evaluation.ts';
import type { CallerField, ConditionColumn } from './roots.ts';

/** Where a term stands in the text of the condition. */
interface Placed {
  readonly at: number;
}

/** A value that is known. */
export interface ConstantTerm extends Placed {
  readonly kind: 'constant';
  readonly value: RelValue;
}

/** What always fails. */
export interface FaultTerm extends Placed {
  readonly kind: 'fault';
  readonly fault: Fault;
}

/** A column of the node. */
export interface ColumnTerm extends Placed {
  readonly kind: 'column';
  readonly column: ConditionColumn;
}

/** A property of the node. */
export interface PropertyTerm extends Placed {
  readonly kind: 'property';
  readonly name: string;
  /** Whether a node without it is a fault (`node['x']`), and not null (`node.x`). */
  readonly isRequired: boolean;
}

/** A value of the caller. */
export interface CallerTerm extends Placed {
  readonly kind: 'caller';
  readonly field: CallerField;
}

/** A column or property of the node, or a value of the caller, whose name is computed. */
export interface DynamicTerm extends Placed {
  readonly kind: 'dynamic';
  readonly root: 'node' | 'auth';
  readonly index: Term;
}

/** `of.name` */
export interface MemberTerm extends Placed {
  readonly kind: 'member';
  readonly of: Term;
  readonly name: string;
}

/** `of[index]` */
export interface IndexTerm extends Placed {
  readonly kind: 'index';
  readonly of: Term;
  readonly index: Term;
}

/** `of.method(arguments)`, with as many arguments as the method takes. */
export interface CallTerm extends Placed {
  readonly kind: 'call';
  readonly of: Term;
  readonly method: Method;
  readonly arguments: readonly Term[];
}

/** `!of`, `-of` */
export interface UnaryTerm extends Placed {
  readonly kind: 'not' | 'negate';
  readonly of: Term;
}

/** `left + right` and so on. */
export interface ArithmeticTerm extends Placed {
  readonly kind: 'arithmetic';
  readonly operator: ArithmeticOperator;
  readonly left: Term;
  readonly right: Term;
}

/** `left == right` and so on. */
export interface ComparisonTerm extends Placed {
  readonly kind: 'comparison';
  readonly operator: ComparisonOperator;
  readonly left: Term;
  readonly right: Term;
}

/** Whether all or any of the items hold, evaluated in order until that is known. At least one item. */
export interface JunctionTerm extends Placed {
  readonly kind: 'all' | 'any';
  readonly items: readonly Term[];
}

/** Whether two nodes are related. */
export interface RelatesTerm extends Placed {
  readonly kind: 'relates';
  readonly from: Term;
  readonly to: Term;
  readonly types: readonly string[];
  readonly depthMin: number;
  readonly depthMax: number;
  readonly direction: RelationDirection;
}

/** A condition whose names are resolved, and in which everything is computed that is known before there is a node. */
export type Term =
  | ConstantTerm
  | FaultTerm
  | ColumnTerm
  | PropertyTerm
  | CallerTerm
  | DynamicTerm
  | MemberTerm
  | IndexTerm
  | CallTerm
  | UnaryTerm
  | ArithmeticTerm
  | ComparisonTerm
  | JunctionTerm
  | RelatesTerm;

/** The terms that a term is computed from. All of them are evaluated, except those of `all` and `any`. */
export function operandsOf(term: Term): readonly Term[] {
  switch (term.kind) {
    case 'dynamic':
      return [term.index];
    case 'member':
    case 'not':
    case 'negate':
      return [term.of];
    case 'index':
      return [term.of, term.index];
    case 'call':
      return [term.of, ...term.arguments];
    case 'arithmetic':
    case 'comparison':
      return [term.left, term.right];
    case 'relates':
      return [term.from, term.to];
    case 'all':
    case 'any':
      return term.items;
    default:
      return [];
  }
}

/** All parts of a term that always fail. */
export function faultsOf(term: Term): readonly FaultTerm[] {
  return term.kind === 'fault' ? [term] : operandsOf(term).flatMap(faultsOf);
}
