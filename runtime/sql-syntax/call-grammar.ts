import type { IToken, ParserMethod } from 'chevrotain';
import { endOf, GrammarBase, nameOf, spanOf, textOf } from './grammar-base.ts';
import { constantLength, type LookAhead } from './listed-constants.ts';
import type {
  CallNode,
  Expression,
  FrameBound,
  LiteralNode,
  ParameterNode,
  SortItem,
  WindowClause,
} from './nodes/syntax-nodes.ts';
import { comma, dot, identifier, keywords, leftParenthesis, rightParenthesis, star, text } from './tokens.ts';

/** The rules for calls: their arguments, the order of these, filters and windows. */
export abstract class CallGrammar extends GrammarBase {
  /** An expression; without IN outside of parentheses when the argument is false. */
  abstract readonly expression: ParserMethod<[allowsIn?: boolean], Expression>;

  protected readonly expressionList = this.RULE('expressionList', (): Expression[] => {
    const items: Expression[] = [];
    this.ACTION(() => this.takeConstants(items));
    this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => items.push(this.SUBRULE(this.expression)) });
    return items;
  });

  /** The constant that a token is. */
  protected abstract constantOf(token: IToken): LiteralNode | ParameterNode;

  /**
   * Reads constants of a list while other constants follow: they need no rules. What is left for the grammar has one item at
   * least, so all errors are those of the grammar.
   */
  protected takeConstants(items: Expression[]): void {
    let length = constantLength(this.#ahead, 1);
    while (length > 0 && this.LA(length + 1).tokenType === comma) {
      const next = constantLength(this.#ahead, length + 2);
      if (next === 0) return;
      items.push(this.#listedConstant(1, length));
      this.skipTokens(length + 1);
      length = next;
    }
  }

  /**
   * Reads rows of constants while other rows follow, as {@link takeConstants} does: what may follow the last row is known to the
   * grammar.
   *
   * @param isFree as of `skipTokens`
   */
  protected takeConstantRows(rows: Expression[][], isFree: boolean): void {
    while (this.LA(1).tokenType === leftParenthesis) {
      const row: Expression[] = [];
      let distance = 2;
      do {
        const length = constantLength(this.#ahead, distance);
        if (length === 0) return;
        row.push(this.#listedConstant(distance, length));
        distance += length + 1;
      } while (this.LA(distance - 1).tokenType === comma);
      const isWhole = this.LA(distance - 1).tokenType === rightParenthesis;
      const isFollowed =
        this.LA(distance).tokenType === comma && this.LA(distance + 1).tokenType === leftParenthesis;
      if (!isWhole || !isFollowed) return;
      rows.push(row);
      this.skipTokens(distance, isFree);
    }
  }

  readonly #ahead: LookAhead = (distance) => this.LA(distance);

  /** The constant of so many tokens at a distance. */
  #listedConstant(distance: number, length: number): Expression {
    const first = this.LA(distance);
    if (length === 1) return this.constantOf(first);
    const last = this.LA(distance + length - 1);
    const span = { start: first.startOffset, end: endOf(last) };
    if (length === 2) return { kind: 'unary', operator: '-', operand: this.constantOf(last), span };
    const type = { name: nameOf(last).toLowerCase(), isArray: false, span: spanOf(last) };
    return { kind: 'cast', operand: this.constantOf(first), type, span };
  }

  /** The arguments of a call, and what may follow them. */
  protected readonly call = this.RULE('call', (name: IToken): CallNode => {
    this.CONSUME(leftParenthesis);
    let isStar = false;
    let isDistinct = false;
    const args: Expression[] = [];
    let orderBy: SortItem[] = [];
    this.OR([
      {
        ALT: () => {
          this.CONSUME(star);
          isStar = true;
        },
      },
      {
        ALT: () => {
          this.OPTION(() => {
            this.OR2([
              {
                ALT: () => {
                  this.CONSUME(keywords.DISTINCT);
                  isDistinct = true;
                },
              },
              { ALT: () => this.CONSUME(keywords.ALL) },
            ]);
          });
          this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => args.push(this.SUBRULE(this.expression)) });
          orderBy = this.OPTION2(() => this.SUBRULE(this.orderBy)) ?? [];
        },
      },
      { ALT: () => {} },
    ]);
    this.CONSUME(rightParenthesis);
    const tail = this.SUBRULE(this.callTail);
    return this.ACTION(() => ({
      kind: 'call',
      name: nameOf(name).toUpperCase(),
      args,
      isStar,
      isDistinct,
      orderBy,
      filter: tail.filter,
      over: tail.over,
      span: this.spanFrom(name.startOffset),
    }));
  });

  /** `FILTER (WHERE …)` and `OVER (…)`. */
  private readonly callTail = this.RULE('callTail', (): Pick<CallNode, 'filter' | 'over'> => {
    this.OPTION({
      GATE: () => this.isAhead(2, keywords.GROUP),
      DEF: () => {
        const within = this.CONSUME(keywords.WITHIN);
        this.ACTION(() => {
          throw this.unsupported('WITHIN GROUP', within);
        });
      },
    });
    const filter = this.OPTION2({
      GATE: () => this.isCallAhead(),
      DEF: () => {
        this.CONSUME(keywords.FILTER);
        this.CONSUME(leftParenthesis);
        this.CONSUME(keywords.WHERE);
        const condition = this.SUBRULE(this.expression);
        this.CONSUME(rightParenthesis);
        return condition;
      },
    });
    const over = this.OPTION3({
      GATE: () => this.isCallAhead() || this.isNameAhead(2),
      DEF: () => this.SUBRULE(this.window),
    });
    return { filter, over };
  });

  /** Whether the token at a distance may be a name. */
  protected isNameAhead(distance: number): boolean {
    const type = this.LA(distance).tokenType;
    return type === identifier || (type.CATEGORIES ?? []).includes(identifier);
  }

  private readonly window = this.RULE('window', (): WindowClause => {
    const { startOffset } = this.CONSUME(keywords.OVER);
    this.OPTION(() => this.SUBRULE(this.windowName));
    this.CONSUME(leftParenthesis);
    this.OPTION2({
      GATE: () => !this.isAhead(1, keywords.PARTITION, keywords.RANGE, keywords.ROWS, keywords.GROUPS),
      DEF: () => this.SUBRULE2(this.windowName),
    });
    const partitionBy =
      this.OPTION3(() => {
        this.CONSUME(keywords.PARTITION);
        this.CONSUME(keywords.BY);
        return this.SUBRULE(this.expressionList);
      }) ?? [];
    const orderBy = this.OPTION4(() => this.SUBRULE(this.orderBy)) ?? [];
    const frame = this.OPTION5(() => this.SUBRULE(this.frame));
    this.CONSUME(rightParenthesis);
    return this.ACTION(() => ({ partitionBy, orderBy, frame, span: this.spanFrom(startOffset) }));
  });

  private readonly windowName = this.RULE('windowName', (): void => {
    const name = this.CONSUME(identifier);
    this.ACTION(() => {
      throw this.failAt('Named windows are not supported; write the window between the parentheses of OVER', {
        start: name.startOffset,
      });
    });
  });

  private readonly frame = this.RULE('frame', (): WindowClause['frame'] => {
    const unit = this.OR([
      { ALT: () => this.CONSUME(keywords.ROWS) },
      { ALT: () => this.CONSUME(keywords.RANGE) },
      { ALT: () => this.CONSUME(keywords.GROUPS) },
    ]);
    this.ACTION(() => {
      if (unit.tokenType === keywords.GROUPS) throw this.unsupported('a frame of GROUPS', unit);
    });
    let start: FrameBound = { kind: 'current-row' };
    let end: FrameBound = { kind: 'current-row' };
    this.OR2([
      {
        ALT: () => {
          this.CONSUME(keywords.BETWEEN);
          start = this.SUBRULE(this.frameBound);
          this.CONSUME(keywords.AND);
          end = this.SUBRULE2(this.frameBound);
        },
      },
      {
        ALT: () => {
          start = this.SUBRULE3(this.frameBound);
        },
        IGNORE_AMBIGUITIES: true,
      },
    ]);
    this.OPTION(() => {
      const exclude = this.CONSUME(keywords.EXCLUDE);
      this.ACTION(() => {
        throw this.unsupported('EXCLUDE in a frame', exclude);
      });
    });
    return this.ACTION(() => ({ unit: unit.tokenType === keywords.ROWS ? 'rows' : 'range', start, end }));
  });

  private readonly frameBound = this.RULE(
    'frameBound',
    (): FrameBound =>
      this.choose<FrameBound>([
        {
          GATE: () => this.isAhead(2, keywords.PRECEDING, keywords.FOLLOWING),
          ALT: () => {
            this.CONSUME(keywords.UNBOUNDED);
            const side = this.OR2([
              { ALT: () => this.CONSUME(keywords.PRECEDING) },
              { ALT: () => this.CONSUME(keywords.FOLLOWING) },
            ]);
            return this.ACTION(() => ({
              kind: side.tokenType === keywords.PRECEDING ? 'unbounded-preceding' : 'unbounded-following',
            }));
          },
        },
        {
          GATE: () => this.isAhead(2, keywords.ROW),
          ALT: () => {
            this.CONSUME(keywords.CURRENT);
            this.CONSUME(keywords.ROW);
            return { kind: 'current-row' };
          },
        },
        {
          ALT: () => {
            // The bound of `BETWEEN a PRECEDING AND b FOLLOWING` ends before its word.
            const distance = this.SUBRULE(this.expression);
            const side = this.OR3([
              { ALT: () => this.CONSUME2(keywords.PRECEDING) },
              { ALT: () => this.CONSUME2(keywords.FOLLOWING) },
            ]);
            return this.ACTION(() => ({
              kind: side.tokenType === keywords.PRECEDING ? 'preceding' : 'following',
              distance,
            }));
          },
          IGNORE_AMBIGUITIES: true,
        },
      ]),
  );

  readonly orderBy = this.RULE('orderBy', (): SortItem[] => {
    this.CONSUME(keywords.ORDER);
    this.CONSUME(keywords.BY);
    const items: SortItem[] = [];
    this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => items.push(this.SUBRULE(this.sortItem)) });
    return items;
  });

  private readonly sortItem = this.RULE('sortItem', (): SortItem => {
    const expression = this.SUBRULE(this.expression);
    let isDescending = false;
    let nullsFirst: boolean | undefined;
    this.OPTION(() => {
      this.OR([
        { ALT: () => this.CONSUME(keywords.ASC) },
        {
          ALT: () => {
            this.CONSUME(keywords.DESC);
            isDescending = true;
          },
        },
      ]);
    });
    this.OPTION2(() => {
      this.CONSUME(keywords.NULLS);
      this.OR2([
        {
          ALT: () => {
            this.CONSUME(keywords.FIRST);
            nullsFirst = true;
          },
        },
        {
          ALT: () => {
            this.CONSUME(keywords.LAST);
            nullsFirst = false;
          },
        },
      ]);
    });
    return { expression, isDescending, nullsFirst };
  });

  /** Functions whose arguments are set apart by words. Written with commas they are ordinary calls. */
  protected readonly specialCall = this.RULE(
    'specialCall',
    (): Expression =>
      this.choose<Expression>([
        {
          ALT: () => {
            const name = this.CONSUME(keywords.EXTRACT);
            this.CONSUME(leftParenthesis);
            const field = this.OR2([
              { ALT: () => this.CONSUME(identifier) },
              { ALT: () => this.CONSUME(text) },
            ]);
            this.CONSUME(keywords.FROM);
            const source = this.SUBRULE(this.expression);
            this.CONSUME(rightParenthesis);
            return this.ACTION(() => {
              const value = field.tokenType === text ? textOf(field) : nameOf(field);
              return callNode(
                'EXTRACT',
                [{ kind: 'literal', type: 'text', value, span: spanOf(field) }, source],
                this.spanFrom(name.startOffset),
              );
            });
          },
        },
        { ALT: () => this.SUBRULE(this.substring) },
        { ALT: () => this.SUBRULE(this.trim) },
        {
          ALT: () => {
            const name = this.CONSUME(keywords.POSITION);
            this.CONSUME2(leftParenthesis);
            const part = this.SUBRULE2(this.expression, { ARGS: [false] });
            this.OR3([{ ALT: () => this.CONSUME(keywords.IN) }, { ALT: () => this.CONSUME(comma) }]);
            const whole = this.SUBRULE3(this.expression);
            this.CONSUME2(rightParenthesis);
            return this.ACTION(() => callNode('POSITION', [part, whole], this.spanFrom(name.startOffset)));
          },
        },
      ]),
  );

  /** `SUBSTRING(x FROM a FOR b)`, either part may be left out, and `SUBSTRING(x, a, b)`. */
  private readonly substring = this.RULE('substring', (): Expression => {
    const name = this.CONSUME(keywords.SUBSTRING);
    this.CONSUME(leftParenthesis);
    const args = [this.SUBRULE(this.expression)];
    this.OR([
      {
        ALT: () => {
          this.CONSUME(keywords.FROM);
          args.push(this.SUBRULE2(this.expression));
          this.OPTION(() => {
            this.CONSUME(keywords.FOR);
            args.push(this.SUBRULE3(this.expression));
          });
        },
      },
      {
        ALT: () => {
          const word = this.CONSUME2(keywords.FOR);
          args.push(this.ACTION(() => ({ kind: 'literal', type: 'int', value: 1, span: spanOf(word) })));
          args.push(this.SUBRULE4(this.expression));
        },
      },
      {
        ALT: () => {
          this.MANY(() => {
            this.CONSUME(comma);
            args.push(this.SUBRULE5(this.expression));
          });
        },
      },
    ]);
    this.CONSUME(rightParenthesis);
    return this.ACTION(() => callNode('SUBSTRING', args, this.spanFrom(name.startOffset)));
  });

  /** `TRIM([LEADING | TRAILING | BOTH] [characters] FROM x)`, read as LTRIM, RTRIM and TRIM, and `TRIM(x)`. */
  private readonly trim = this.RULE('trim', (): Expression => {
    const start = this.CONSUME(keywords.TRIM).startOffset;
    this.CONSUME(leftParenthesis);
    const side = this.OPTION({
      GATE: () => !this.isAhead(2, comma, rightParenthesis, dot),
      DEF: () =>
        this.OR([
          { ALT: () => this.CONSUME(keywords.LEADING) },
          { ALT: () => this.CONSUME(keywords.TRAILING) },
          { ALT: () => this.CONSUME(keywords.BOTH) },
        ]),
    });
    const args: Expression[] = [];
    this.OPTION2({
      GATE: () => !this.isAhead(1, keywords.FROM),
      DEF: () => this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => args.push(this.SUBRULE(this.expression)) }),
    });
    this.OPTION3(() => {
      this.CONSUME(keywords.FROM);
      const source = this.SUBRULE2(this.expression);
      args.unshift(source);
    });
    this.CONSUME(rightParenthesis);
    return this.ACTION(() => {
      const name =
        side?.tokenType === keywords.LEADING
          ? 'LTRIM'
          : side?.tokenType === keywords.TRAILING
            ? 'RTRIM'
            : 'TRIM';
      return callNode(name, args, this.spanFrom(start));
    });
  });

  protected unsupported(what: string, token: IToken): Error {
    return this.failAt(`Unsupported expression: ${what}`, spanOf(token));
  }
}

/** A call without anything but arguments. */
export function callNode(name: string, args: readonly Expression[], span: CallNode['span']): CallNode {
  return {
    kind: 'call',
    name,
    args,
    isStar: false,
    isDistinct: false,
    orderBy: [],
    filter: undefined,
    over: undefined,
    span,
  };
}
