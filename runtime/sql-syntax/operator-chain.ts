import { assert } from '#runtime/base/assert.ts';
import { BIGINT_MIN } from './literal-number.ts';
import type { BinaryNode, CastNode, Expression, Span, UnaryNode } from './nodes/syntax-nodes.ts';
import { binaryPrecedence, Precedence } from './precedence.ts';

/**
 * Operands joined by AND or OR from which on the tree is balanced. Shorter chains lean to the left as any other, which
 * is what a reader of a tree expects. AND and OR may be joined in any order: their result is the same, and operands
 * are still evaluated from the left.
 */
const BALANCED_FROM = 32;

/** An operand, and whether it stood in parentheses; its place includes these. */
interface Operand {
  readonly node: Expression;
  readonly isParenthesised: boolean;
  readonly start: number;
  readonly end: number;
}

/** An operator that still waits for its right operand. */
type Pending =
  | {
      readonly kind: 'prefix';
      readonly precedence: number;
      readonly operator: UnaryNode['operator'];
      readonly start: number;
      readonly isBeforeLimit: boolean;
    }
  | { readonly kind: 'binary'; readonly precedence: number; readonly operator: BinaryNode['operator'] }
  /** LIKE and IS DISTINCT FROM: a binary operator with a node of its own. */
  | { readonly kind: 'special'; readonly precedence: number; readonly make: MakeSpecial }
  /** BETWEEN before its AND: nothing before it may be reduced. */
  | { readonly kind: 'low'; readonly precedence: 0; readonly isNegated: boolean }
  | { readonly kind: 'high'; readonly precedence: number; readonly isNegated: boolean };

type MakeSpecial = (left: Expression, right: Expression, span: Span) => Expression;

/**
 * Makes a tree of operands and operators as they come, by their precedence (Dijkstra's shunting-yard algorithm). One
 * chain is what stands between two parentheses. It takes no stack, so that the length of a chain is bounded by the
 * number of tokens only.
 */
export class OperatorChain {
  readonly #operands: Operand[] = [];
  readonly #pending: Pending[] = [];

  /** An operand; `place` is that of its parentheses, if it stands in some. */
  operand(node: Expression, isParenthesised = false, place: Span = node.span): void {
    this.#operands.push({ node, isParenthesised, start: place.start, end: place.end });
  }

  /** A sign or NOT before an operand, which may be the number that makes the least BIGINT with a minus. */
  prefix(operator: UnaryNode['operator'], start: number, isBeforeLimit = false): void {
    const precedence = operator === 'NOT' ? Precedence.not : Precedence.sign;
    this.#pending.push({ kind: 'prefix', precedence, operator, start, isBeforeLimit });
  }

  /** @returns false when AND is needed first, because BETWEEN waits for it */
  binary(operator: BinaryNode['operator']): boolean {
    const precedence = binaryPrecedence[operator];
    this.#reduce(precedence, operator);
    if (precedence <= Precedence.predicate && this.#isBetweenOpen) {
      if (operator !== 'AND') return false;
      const between = this.#pending.pop();
      assert(between?.kind === 'low', 'BETWEEN is on top');
      this.#pending.push({ kind: 'high', precedence: Precedence.predicate, isNegated: between.isNegated });
      return true;
    }
    this.#pending.push({ kind: 'binary', precedence, operator });
    return true;
  }

  /** A binary operator whose node is not that of others: LIKE, ILIKE, IS DISTINCT FROM. */
  special(precedence: number, make: MakeSpecial): void {
    this.#reduce(precedence);
    this.#pending.push({ kind: 'special', precedence, make });
  }

  /** BETWEEN; the AND that belongs to it comes as a binary operator. */
  between(isNegated: boolean): void {
    this.#reduce(Precedence.predicate);
    this.#pending.push({ kind: 'low', precedence: 0, isNegated });
  }

  /** What follows its operand and has no right one: `::type`, `[n]`, `IS NULL`, `IN (…)`, `= ANY (…)`. */
  postfix(precedence: number, end: number, make: (operand: Expression, span: Span) => Expression): void {
    this.#reduce(precedence);
    const { node, start } = this.#popOperand();
    this.#operands.push({ node: make(node, { start, end }), isParenthesised: false, start, end });
  }

  /** Whether a BETWEEN without its AND is the operator read last that is not reduced yet. */
  get #isBetweenOpen(): boolean {
    return this.#pending.at(-1)?.kind === 'low';
  }

  /** The tree, to be asked for once, behind the last operand; undefined where a BETWEEN lacks its AND. */
  finish(): Expression | undefined {
    // Operators behind the BETWEEN are closed first: in `x BETWEEN 1 + 2` it is not the one read last.
    this.#reduce(Precedence.or);
    if (this.#isBetweenOpen) return undefined;
    const { node } = this.#popOperand();
    assert(
      this.#operands.length === 0 && this.#pending.length === 0,
      'a chain alternates operands and operators',
    );
    return node;
  }

  /** Closes the operators that bind at least as tightly as the next one; a run of AND or OR only when it is over. */
  #reduce(precedence: number, next?: BinaryNode['operator']): void {
    for (let top = this.#pending.at(-1); top !== undefined; top = this.#pending.at(-1)) {
      if (top.kind === 'low' || top.precedence < precedence) return;
      if (top.kind === 'binary' && (top.operator === 'AND' || top.operator === 'OR')) {
        if (top.operator === next) return;
        this.#reduceRun(top.operator);
        continue;
      }
      this.#pending.pop();
      this.#reduceOne(top);
    }
  }

  #reduceOne(top: Exclude<Pending, { kind: 'low' }>): void {
    const right = this.#popOperand();
    if (top.kind === 'prefix') {
      const span = { start: top.start, end: right.end };
      const node: Expression =
        top.isBeforeLimit && top.operator === '-' && right.node.kind === 'literal'
          ? { kind: 'literal', type: 'bigint', value: BIGINT_MIN, span }
          : { kind: 'unary', operator: top.operator, operand: right.node, span };
      this.#operands.push({ node, isParenthesised: false, ...span });
      return;
    }
    const left = this.#popOperand();
    if (top.kind === 'high') {
      const operand = this.#popOperand();
      const span = { start: operand.start, end: right.end };
      const { isNegated } = top;
      this.#operands.push({
        node: { kind: 'between', operand: operand.node, low: left.node, high: right.node, isNegated, span },
        isParenthesised: false,
        ...span,
      });
      return;
    }
    const span = { start: left.start, end: right.end };
    const node =
      top.kind === 'special'
        ? top.make(left.node, right.node, span)
        : joinBinary(top.operator, left.node, right, span);
    this.#operands.push({ node, isParenthesised: false, ...span });
  }

  /** Joins the operands of the AND or OR on top, and of all equal ones under it. */
  #reduceRun(operator: 'AND' | 'OR'): void {
    const operands = [this.#popOperand()];
    for (let top = this.#pending.at(-1); top?.kind === 'binary' && top.operator === operator; ) {
      this.#pending.pop();
      operands.push(this.#popOperand());
      top = this.#pending.at(-1);
    }
    operands.reverse();
    const node =
      operands.length < BALANCED_FROM
        ? operands.reduce((left, right) => joinRun(operator, left, right))
        : balanced(operator, operands, 0, operands.length);
    this.#operands.push({ ...node, isParenthesised: false });
  }

  #popOperand(): Operand {
    const operand = this.#operands.pop();
    assert(operand !== undefined, 'an operator has its operands');
    return operand;
  }
}

function joinRun(operator: 'AND' | 'OR', left: Operand, right: Operand): Operand {
  const { start } = left;
  const { end } = right;
  const span = { start, end };
  const node: Expression = { kind: 'binary', operator, left: left.node, right: right.node, span };
  return { node, isParenthesised: false, start, end };
}

/** Joins `operands[from]` to `operands[to - 1]`; the recursion is as deep as the tree, the logarithm of their number. */
function balanced(operator: 'AND' | 'OR', operands: readonly Operand[], from: number, to: number): Operand {
  if (to - from === 1) return operands[from]!;
  const middle = (from + to) >> 1;
  return joinRun(
    operator,
    balanced(operator, operands, from, middle),
    balanced(operator, operands, middle, to),
  );
}

/**
 * `a ->> 'k'::int` means `(a ->> 'k')::int`: a cast of the literal key would be of no use, so it is that of what is
 * extracted. Written with parentheses, `a ->> ('k'::text)`, it stays where it is.
 */
function joinBinary(
  operator: BinaryNode['operator'],
  left: Expression,
  right: Operand,
  span: Span,
): Expression {
  const casts: CastNode[] = [];
  let key = right.node;
  if ((operator === '->' || operator === '->>') && !right.isParenthesised) {
    for (; key.kind === 'cast'; key = key.operand) casts.push(key);
    if (key.kind !== 'literal') {
      key = right.node;
      casts.length = 0;
    }
  }
  let node: Expression = { kind: 'binary', operator, left, right: key, span: { ...span, end: key.span.end } };
  if (casts.length === 0) node = { ...node, span };
  for (const cast of casts.reverse()) {
    node = { kind: 'cast', operand: node, type: cast.type, span: { start: span.start, end: cast.span.end } };
  }
  return node;
}
