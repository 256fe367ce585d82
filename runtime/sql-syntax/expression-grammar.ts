import type { IToken, ParserMethod } from 'chevrotain';
import { CallGrammar, callNode } from './call-grammar.ts';
import { endOf, nameOf, spanOf, textOf } from './grammar-base.ts';
import { isBigintLimit, literalNumber } from './literal-number.ts';
import type { Expression, LiteralNode, ParameterNode, Query, TypeName } from './nodes/syntax-nodes.ts';
import { OperatorChain } from './operator-chain.ts';
import { comparisons, Precedence } from './precedence.ts';
import {
  anyLabel,
  binaryOperator,
  comma,
  dollarText,
  dot,
  doubleColon,
  identifier,
  isBareCall,
  keywords,
  leftBracket,
  leftParenthesis,
  minus,
  number,
  parameter,
  pathStart,
  plus,
  rightBracket,
  rightParenthesis,
  text,
  unsupportedOperator,
} from './tokens.ts';

type BinaryOperator = Parameters<OperatorChain['binary']>[0];
type ComparisonOperator = Extract<Expression, { kind: 'quantified' }>['operator'];

/** The rules for expressions. Each makes the tree of what it read. */
export abstract class ExpressionGrammar extends CallGrammar {
  /** A query without parentheses around it. */
  abstract readonly query: ParserMethod<[], Query>;

  /**
   * Operands and operators as a flat list; the chain gives them their tree. A rule for each level of precedence would
   * take fifteen calls for each number, and as many frames of the stack for each parenthesis.
   */
  readonly expression = this.RULE('expression', (allowsIn = true): Expression => {
    const chain = this.ACTION(() => new OperatorChain());
    this.SUBRULE(this.operand, { ARGS: [chain] });
    this.MANY({
      GATE: () => allowsIn || !this.isAhead(1, keywords.IN),
      DEF: () => this.SUBRULE(this.operatorTail, { ARGS: [chain] }),
    });
    return this.ACTION(() => {
      const node = chain.finish();
      if (node === undefined) throw this.expectedAnd();
      return node;
    });
  });

  private readonly operand = this.RULE('operand', (chain: OperatorChain): void => {
    this.MANY(() => {
      const sign = this.OR([
        { ALT: () => this.CONSUME(keywords.NOT) },
        { ALT: () => this.CONSUME(minus) },
        { ALT: () => this.CONSUME(plus) },
      ]);
      this.ACTION(() => {
        const operator = sign.tokenType === minus ? '-' : sign.tokenType === plus ? '+' : 'NOT';
        chain.prefix(operator, sign.startOffset, isBigintLimit(this.LA(1).image));
      });
    });
    this.OR2([
      { GATE: () => !this.isQueryAhead(), ALT: () => this.SUBRULE(this.parenthesised, { ARGS: [chain] }) },
      {
        ALT: () => {
          const node = this.SUBRULE(this.primary);
          this.ACTION(() => chain.operand(node));
        },
        IGNORE_AMBIGUITIES: true,
      },
    ]);
  });

  /** `(a)` or the row `(a, b)`. */
  private readonly parenthesised = this.RULE('parenthesised', (chain: OperatorChain): void => {
    const { startOffset } = this.CONSUME(leftParenthesis);
    const items = this.SUBRULE(this.expressionList);
    this.CONSUME(rightParenthesis);
    this.ACTION(() => {
      const span = this.spanFrom(startOffset);
      if (items.length === 1) chain.operand(items[0]!, true, span);
      else chain.operand({ kind: 'row', items, span });
    });
  });

  private readonly operatorTail = this.RULE('operatorTail', (chain: OperatorChain): void => {
    this.OR([
      {
        ALT: () => {
          const operator = this.OR2([
            { ALT: () => this.CONSUME(keywords.AND) },
            { ALT: () => this.CONSUME(keywords.OR) },
          ]);
          this.ACTION(() => {
            const name = operator.tokenType === keywords.AND ? 'AND' : 'OR';
            if (!chain.binary(name)) throw this.expectedAnd(operator.startOffset);
          });
          this.SUBRULE(this.operand, { ARGS: [chain] });
        },
      },
      { ALT: () => this.SUBRULE(this.binaryTail, { ARGS: [chain] }) },
      { ALT: () => this.SUBRULE(this.isTail, { ARGS: [chain] }) },
      { ALT: () => this.SUBRULE(this.predicateTail, { ARGS: [chain] }) },
      {
        ALT: () => {
          this.CONSUME(doubleColon);
          const type = this.SUBRULE(this.typeName);
          this.ACTION(() =>
            chain.postfix(Precedence.cast, this.lastEnd, (operand, span) => ({
              kind: 'cast',
              operand,
              type,
              span,
            })),
          );
        },
      },
      {
        ALT: () => {
          this.CONSUME(leftBracket);
          const index = this.SUBRULE(this.expression);
          this.CONSUME(rightBracket);
          this.ACTION(() =>
            chain.postfix(Precedence.subscript, this.lastEnd, (operand, span) => ({
              kind: 'subscript',
              operand,
              index,
              span,
            })),
          );
        },
      },
      {
        ALT: () => {
          const operator = this.CONSUME(unsupportedOperator);
          this.ACTION(() => {
            throw this.unsupported(operator.image, operator);
          });
        },
      },
    ]);
  });

  /** A binary operator written with signs, and what follows it. */
  private readonly binaryTail = this.RULE('binaryTail', (chain: OperatorChain): void => {
    const operator = this.CONSUME(binaryOperator);
    const name = this.ACTION(() => (operator.image === '!=' ? '<>' : operator.image));
    this.OR([
      {
        ALT: () => {
          const quantifier = this.OR2([
            { ALT: () => this.CONSUME(keywords.ANY) },
            { ALT: () => this.CONSUME(keywords.SOME) },
            { ALT: () => this.CONSUME(keywords.ALL) },
          ]);
          this.ACTION(() => {
            if (!comparisons.has(name)) {
              throw this.unsupported(`${name} ${quantifier.image.toUpperCase()}`, operator);
            }
          });
          const right = this.SUBRULE(this.quantifiedOperand);
          this.ACTION(() =>
            chain.postfix(Precedence.comparison, this.lastEnd, (left, span) => ({
              kind: 'quantified',
              operator: name as ComparisonOperator,
              quantifier: quantifier.tokenType === keywords.ALL ? 'all' : 'any',
              left,
              right,
              span,
            })),
          );
        },
      },
      {
        ALT: () => {
          this.ACTION(() => chain.binary(name as BinaryOperator));
          this.SUBRULE(this.operand, { ARGS: [chain] });
        },
      },
    ]);
  });

  private readonly quantifiedOperand = this.RULE('quantifiedOperand', (): Expression | Query =>
    this.choose<Expression | Query>([
      { GATE: () => this.isQueryAhead(), ALT: () => this.SUBRULE(this.queryInParentheses) },
      {
        ALT: () => {
          this.CONSUME(leftParenthesis);
          const node = this.SUBRULE(this.expression);
          this.CONSUME(rightParenthesis);
          return node;
        },
        IGNORE_AMBIGUITIES: true,
      },
    ]),
  );

  readonly queryInParentheses = this.RULE('queryInParentheses', (): Query => {
    this.CONSUME(leftParenthesis);
    const query = this.SUBRULE(this.query);
    this.CONSUME(rightParenthesis);
    return query;
  });

  /** `IS [NOT] NULL` and the like. */
  private readonly isTail = this.RULE('isTail', (chain: OperatorChain): void => {
    this.CONSUME(keywords.IS);
    const isNegated = this.OPTION(() => this.CONSUME(keywords.NOT)) !== undefined;
    this.OR([
      {
        ALT: () => {
          const test = this.OR2([
            { ALT: () => this.CONSUME(keywords.NULL) },
            { ALT: () => this.CONSUME(keywords.TRUE) },
            { ALT: () => this.CONSUME(keywords.FALSE) },
            { ALT: () => this.CONSUME(keywords.UNKNOWN) },
          ]);
          this.ACTION(() =>
            chain.postfix(Precedence.predicate, endOf(test), (operand, span) => ({
              kind: 'is',
              operand,
              test: test.image.toLowerCase() as 'null' | 'true' | 'false' | 'unknown',
              isNegated,
              span,
            })),
          );
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.DISTINCT);
          this.CONSUME(keywords.FROM);
          this.ACTION(() =>
            chain.special(Precedence.predicate, (left, right, span) => ({
              kind: 'distinct-from',
              left,
              right,
              isNegated,
              span,
            })),
          );
          this.SUBRULE(this.operand, { ARGS: [chain] });
        },
      },
    ]);
  });

  /** `[NOT] IN (…)`, `[NOT] LIKE a`, `[NOT] ILIKE a`, `[NOT] BETWEEN a` with AND still to come. */
  private readonly predicateTail = this.RULE('predicateTail', (chain: OperatorChain): void => {
    const isNegated = this.OPTION(() => this.CONSUME(keywords.NOT)) !== undefined;
    this.OR([
      {
        ALT: () => {
          this.CONSUME(keywords.IN);
          const list = this.SUBRULE(this.inOperand);
          this.ACTION(() =>
            chain.postfix(Precedence.predicate, this.lastEnd, (operand, span) =>
              Array.isArray(list)
                ? { kind: 'in-list', operand, items: list as Expression[], isNegated, span }
                : { kind: 'in-query', operand, query: list as Query, isNegated, span },
            ),
          );
        },
      },
      {
        ALT: () => {
          const operator = this.OR2([
            { ALT: () => this.CONSUME(keywords.LIKE) },
            { ALT: () => this.CONSUME(keywords.ILIKE) },
          ]);
          this.ACTION(() => {
            const ignoresCase = operator.tokenType === keywords.ILIKE;
            chain.special(Precedence.predicate, (operand, pattern, span) => ({
              kind: 'like',
              operand,
              pattern,
              ignoresCase,
              isNegated,
              span,
            }));
          });
          this.SUBRULE(this.operand, { ARGS: [chain] });
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.BETWEEN);
          this.ACTION(() => chain.between(isNegated));
          this.SUBRULE2(this.operand, { ARGS: [chain] });
        },
      },
      {
        ALT: () => {
          const operator = this.CONSUME(keywords.SIMILAR);
          this.ACTION(() => {
            throw this.unsupported('SIMILAR TO', operator);
          });
        },
      },
    ]);
  });

  private readonly inOperand = this.RULE('inOperand', (): Expression[] | Query =>
    this.choose<Expression[] | Query>([
      { GATE: () => this.isQueryAhead(), ALT: () => this.SUBRULE(this.queryInParentheses) },
      {
        ALT: () => {
          this.CONSUME(leftParenthesis);
          const items = this.SUBRULE(this.expressionList);
          this.CONSUME(rightParenthesis);
          return items;
        },
        IGNORE_AMBIGUITIES: true,
      },
    ]),
  );

  private readonly primary = this.RULE(
    'primary',
    (): Expression =>
      this.choose<Expression>([
        { ALT: () => this.SUBRULE(this.literal) },
        {
          ALT: () => {
            const token = this.CONSUME(parameter);
            return this.ACTION(() => this.constantOf(token));
          },
        },
        { ALT: () => this.SUBRULE(this.propertyPath) },
        { ALT: () => this.SUBRULE(this.arrayOf) },
        { ALT: () => this.SUBRULE(this.caseOf) },
        { ALT: () => this.SUBRULE(this.castOf) },
        {
          GATE: () => this.isAhead(2, leftParenthesis),
          ALT: () => {
            const { startOffset } = this.CONSUME(keywords.EXISTS);
            const query = this.SUBRULE(this.queryInParentheses);
            return this.ACTION(() => ({ kind: 'exists', query, span: this.spanFrom(startOffset) }));
          },
        },
        {
          GATE: () => this.isAhead(2, text),
          ALT: () => {
            const { startOffset } = this.CONSUME(keywords.INTERVAL);
            const token = this.CONSUME(text);
            return this.ACTION(() => ({
              kind: 'interval',
              text: textOf(token),
              span: this.spanFrom(startOffset),
            }));
          },
        },
        { GATE: () => this.isCallAhead(), ALT: () => this.SUBRULE(this.specialCall) },
        {
          ALT: () => {
            const { startOffset } = this.CONSUME(leftParenthesis);
            const query = this.SUBRULE(this.query);
            this.CONSUME(rightParenthesis);
            return this.ACTION(() => ({ kind: 'subquery', query, span: this.spanFrom(startOffset) }));
          },
        },
        {
          // LEFT and RIGHT are reserved for joins, and functions too.
          ALT: () => {
            const name = this.OR2([
              { ALT: () => this.CONSUME(keywords.LEFT) },
              { ALT: () => this.CONSUME(keywords.RIGHT) },
            ]);
            return this.SUBRULE(this.call, { ARGS: [name] });
          },
        },
        { ALT: () => this.SUBRULE(this.named), IGNORE_AMBIGUITIES: true },
      ]),
  );

  private readonly literal = this.RULE('literal', (): LiteralNode => {
    const token = this.OR([
      { ALT: () => this.CONSUME(number) },
      { ALT: () => this.CONSUME(text) },
      { ALT: () => this.CONSUME(dollarText) },
      { ALT: () => this.CONSUME(keywords.TRUE) },
      { ALT: () => this.CONSUME(keywords.FALSE) },
      { ALT: () => this.CONSUME(keywords.NULL) },
    ]);
    return this.ACTION(() => this.literalOf(token));
  });

  private literalOf(token: IToken): LiteralNode {
    const span = spanOf(token);
    if (token.tokenType === number) return { kind: 'literal', ...this.numberOf(token), span };
    if (token.tokenType === keywords.NULL) return { kind: 'literal', type: 'null', value: null, span };
    if (token.tokenType === keywords.TRUE) return { kind: 'literal', type: 'boolean', value: true, span };
    if (token.tokenType === keywords.FALSE) return { kind: 'literal', type: 'boolean', value: false, span };
    return { kind: 'literal', type: 'text', value: textOf(token), span };
  }

  protected constantOf(token: IToken): LiteralNode | ParameterNode {
    if (token.tokenType !== parameter) return this.literalOf(token);
    return { kind: 'parameter', index: Number(token.image.slice(1)), span: spanOf(token) };
  }

  protected numberOf(token: IToken): Pick<LiteralNode, 'type' | 'value'> {
    const value = literalNumber(token.image);
    if (value === undefined)
      throw this.failAt(`Number out of range: ${token.image.slice(0, 40)}`, spanOf(token));
    return value;
  }

  /** `$.properties.a[0]`. */
  private readonly propertyPath = this.RULE('propertyPath', (): Expression => {
    const { startOffset } = this.CONSUME(pathStart);
    const steps: (string | number)[] = [];
    const first = this.CONSUME(anyLabel);
    this.ACTION(() => steps.push(nameOf(first)));
    this.MANY(() => {
      this.OR([
        {
          ALT: () => {
            this.CONSUME(dot);
            const step = this.CONSUME2(anyLabel);
            this.ACTION(() => steps.push(nameOf(step)));
          },
        },
        {
          ALT: () => {
            this.CONSUME(leftBracket);
            const step = this.CONSUME(number);
            this.ACTION(() => {
              if (!/^\d{1,9}$/.test(step.image)) {
                throw this.failAt(
                  `Syntax error: expected an index, found "${step.image.slice(0, 40)}"`,
                  spanOf(step),
                );
              }
              steps.push(Number(step.image));
            });
            this.CONSUME(rightBracket);
          },
        },
      ]);
    });
    return this.ACTION(() => ({ kind: 'property-path', steps, span: this.spanFrom(startOffset) }));
  });

  private readonly arrayOf = this.RULE('arrayOf', (): Expression => {
    const { startOffset } = this.CONSUME(keywords.ARRAY);
    this.CONSUME(leftBracket);
    const items: Expression[] = [];
    this.ACTION(() => this.takeConstants(items));
    this.MANY_SEP({ SEP: comma, DEF: () => items.push(this.SUBRULE(this.expression)) });
    this.CONSUME(rightBracket);
    return this.ACTION(() => ({ kind: 'array', items, span: this.spanFrom(startOffset) }));
  });

  private readonly caseOf = this.RULE('caseOf', (): Expression => {
    const { startOffset } = this.CONSUME(keywords.CASE);
    const operand = this.OPTION(() => this.SUBRULE(this.expression));
    const branches: { when: Expression; then: Expression }[] = [];
    this.AT_LEAST_ONE(() => {
      this.CONSUME(keywords.WHEN);
      const when = this.SUBRULE2(this.expression);
      this.CONSUME(keywords.THEN);
      const then = this.SUBRULE3(this.expression);
      branches.push({ when, then });
    });
    const otherwise = this.OPTION2(() => {
      this.CONSUME(keywords.ELSE);
      return this.SUBRULE4(this.expression);
    });
    this.CONSUME(keywords.END);
    return this.ACTION(() => ({
      kind: 'case',
      operand,
      branches,
      otherwise,
      span: this.spanFrom(startOffset),
    }));
  });

  private readonly castOf = this.RULE('castOf', (): Expression => {
    const { startOffset } = this.CONSUME(keywords.CAST);
    this.CONSUME(leftParenthesis);
    const operand = this.SUBRULE(this.expression);
    this.CONSUME(keywords.AS);
    const type = this.SUBRULE(this.typeName);
    this.CONSUME(rightParenthesis);
    return this.ACTION(() => ({ kind: 'cast', operand, type, span: this.spanFrom(startOffset) }));
  });

  /** A type: one word or several (`double precision`), arguments (`vector(3)`), `[]`. */
  private readonly typeName = this.RULE('typeName', (): TypeName => {
    const first = this.CONSUME(identifier);
    const words = this.ACTION(() => [nameOf(first)]);
    this.MANY({
      GATE: () => this.isTypeWordAhead(words),
      DEF: () => {
        const next = this.OR([
          { ALT: () => this.CONSUME2(identifier) },
          { ALT: () => this.CONSUME(keywords.WITH) },
        ]);
        this.ACTION(() => words.push(nameOf(next)));
      },
    });
    this.OPTION(() => {
      this.CONSUME(leftParenthesis);
      const size = this.CONSUME(number);
      this.CONSUME(rightParenthesis);
      this.ACTION(() => words.push(`${words.pop()}(${size.image})`));
    });
    const isArray =
      this.OPTION2(() => {
        this.CONSUME(leftBracket);
        return this.CONSUME(rightBracket);
      }) !== undefined;
    return this.ACTION(() => ({
      name: words.join(' ').toLowerCase(),
      isArray,
      span: this.spanFrom(first.startOffset),
    }));
  });

  private isTypeWordAhead(words: readonly string[]): boolean {
    const soFar = words.join(' ').toUpperCase();
    const next = this.LA(1).image.toUpperCase();
    if (soFar === 'DOUBLE') return next === 'PRECISION';
    if (soFar === 'CHARACTER') return next === 'VARYING';
    const match = /^(?:TIMESTAMP|TIME)(?: (WITH|WITHOUT)(?: (TIME))?)?$/.exec(soFar);
    if (match === null) return false;
    if (match[2] !== undefined) return next === 'ZONE';
    if (match[1] !== undefined) return next === 'TIME';
    return (next === 'WITH' || next === 'WITHOUT') && this.LA(2).image.toUpperCase() === 'TIME';
  }

  /** What begins with a name: a column, a call, a function without parentheses, a literal with its type before it. */
  private readonly named = this.RULE(
    'named',
    (): Expression =>
      this.choose<Expression>([
        {
          GATE: () => this.isCallAhead(),
          ALT: () => {
            const name = this.CONSUME(identifier);
            return this.SUBRULE(this.call, { ARGS: [name] });
          },
        },
        {
          ALT: () => {
            const first = this.CONSUME2(identifier);
            let second: IToken | undefined;
            let literal: IToken | undefined;
            this.OPTION(() => {
              this.OR2([
                {
                  ALT: () => {
                    this.CONSUME(dot);
                    second = this.CONSUME(anyLabel);
                  },
                },
                {
                  ALT: () => {
                    literal = this.CONSUME(text);
                  },
                },
              ]);
            });
            return this.ACTION(() => this.namedNode(first, second, literal));
          },
          IGNORE_AMBIGUITIES: true,
        },
      ]),
  );

  private namedNode(first: IToken, second: IToken | undefined, literal: IToken | undefined): Expression {
    const span = this.spanFrom(first.startOffset);
    const name = nameOf(first);
    if (literal !== undefined) {
      return {
        kind: 'cast',
        operand: { kind: 'literal', type: 'text', value: textOf(literal), span: spanOf(literal) },
        type: { name: name.toLowerCase(), isArray: false, span: spanOf(first) },
        span,
      };
    }
    if (second !== undefined) return { kind: 'column', table: name, name: nameOf(second), span };
    if (first.image === name && isBareCall(name)) return callNode(name.toUpperCase(), [], span);
    return { kind: 'column', table: undefined, name, span };
  }

  private expectedAnd(start = this.nextStart): Error {
    return this.failAt('Syntax error: expected AND behind BETWEEN', { start });
  }
}
