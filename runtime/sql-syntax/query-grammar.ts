import type { IToken } from 'chevrotain';
import { nameOf, spanOf } from './grammar-base.ts';
import type {
  CommonTable,
  Expression,
  Query,
  QueryBody,
  SelectItem,
  SelectNode,
  ValuesNode,
} from './nodes/syntax-nodes.ts';
import { SourceGrammar } from './source-grammar.ts';
import { type SetOperator, setOperations } from './set-operations.ts';
import {
  anyLabel,
  comma,
  dot,
  identifier,
  keywords,
  leftParenthesis,
  rightParenthesis,
  star,
} from './tokens.ts';

/** Words before a parenthesis in GROUP BY that are no functions. */
const GROUPINGS: ReadonlySet<string> = new Set(['ROLLUP', 'CUBE']);

/** The rules for queries. */
export abstract class QueryGrammar extends SourceGrammar {
  readonly query = this.RULE('query', (): Query => {
    const start = this.ACTION(() => this.nextStart);
    let isRecursive = false;
    const commonTables: CommonTable[] = [];
    this.OPTION(() => {
      this.CONSUME(keywords.WITH);
      this.OPTION2({
        // A common table may be called recursive.
        GATE: () => !this.isAhead(2, keywords.AS, leftParenthesis),
        DEF: () => {
          this.CONSUME(keywords.RECURSIVE);
          isRecursive = true;
        },
      });
      this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => commonTables.push(this.SUBRULE(this.commonTable)) });
    });
    const body = this.SUBRULE(this.queryBody);
    const orderBy = this.OPTION3(() => this.SUBRULE(this.orderBy)) ?? [];
    let limit: Expression | undefined;
    let offset: Expression | undefined;
    let hasLimit = false;
    this.MANY(() => {
      this.OR([
        {
          ALT: () => {
            const word = this.CONSUME(keywords.LIMIT);
            this.ACTION(() => {
              if (hasLimit) throw this.twice('LIMIT', word);
            });
            hasLimit = true;
            limit = this.SUBRULE(this.limitCount);
            this.ACTION(() => this.refuseLimitOfTwo(word));
          },
        },
        {
          ALT: () => {
            const word = this.CONSUME(keywords.OFFSET);
            this.ACTION(() => {
              if (offset !== undefined) throw this.twice('OFFSET', word);
            });
            offset = this.SUBRULE(this.expression);
            this.OPTION4(() => this.SUBRULE(this.rowWord));
          },
        },
        {
          ALT: () => {
            const word = this.CONSUME(keywords.FETCH);
            this.ACTION(() => {
              if (hasLimit) throw this.twice('LIMIT', word);
            });
            hasLimit = true;
            limit = this.SUBRULE(this.fetchCount);
          },
        },
      ]);
    });
    return this.ACTION(() => ({
      kind: 'query',
      isRecursive,
      commonTables,
      body,
      orderBy,
      limit,
      offset,
      span: this.spanFrom(start),
    }));
  });

  /** Whether what is read next are the rows of an INSERT. */
  protected abstract insertsNext(): boolean;

  /** Other dialects write the offset before the limit, with a comma. */
  private refuseLimitOfTwo({ startOffset: start }: IToken): void {
    const [word, offset, separator, limit] = [-1, 0, 1, 2].map((at) => this.LA(at)) as IToken[];
    if (word?.startOffset !== start || separator?.tokenType !== comma) return;
    const hint = `LIMIT ${limit?.image} OFFSET ${offset?.image}`;
    throw this.failAt(`Syntax error: LIMIT takes one number. Write ${hint}`, { start });
  }

  private twice(clause: string, token: IToken): Error {
    return this.failAt(`Syntax error: ${clause} is written twice`, spanOf(token));
  }

  private readonly limitCount = this.RULE('limitCount', (): Expression | undefined =>
    this.choose<Expression | undefined>([
      {
        ALT: () => {
          this.CONSUME(keywords.ALL);
          return undefined;
        },
      },
      { ALT: () => this.SUBRULE(this.expression) },
    ]),
  );

  /** `FIRST n ROWS ONLY`; one row when there is no number. */
  private readonly fetchCount = this.RULE('fetchCount', (): Expression => {
    const first = this.OR([
      { ALT: () => this.CONSUME(keywords.FIRST) },
      { ALT: () => this.CONSUME(keywords.NEXT) },
    ]);
    const count = this.OPTION({
      GATE: () => !this.isAhead(1, keywords.ROW, keywords.ROWS),
      DEF: () => this.SUBRULE(this.expression),
    });
    this.SUBRULE(this.rowWord);
    this.CONSUME(keywords.ONLY);
    return this.ACTION(() => count ?? { kind: 'literal', type: 'int', value: 1, span: spanOf(first) });
  });

  private readonly rowWord = this.RULE('rowWord', (): void => {
    this.OR([{ ALT: () => this.CONSUME(keywords.ROW) }, { ALT: () => this.CONSUME(keywords.ROWS) }]);
  });

  private readonly commonTable = this.RULE('commonTable', (): CommonTable => {
    const name = this.CONSUME(identifier);
    const columns = this.OPTION(() => this.SUBRULE(this.nameList)) ?? [];
    this.CONSUME(keywords.AS);
    const query = this.SUBRULE(this.queryInParentheses);
    return this.ACTION(() => ({ name: nameOf(name), columns, query, span: this.spanFrom(name.startOffset) }));
  });

  private readonly queryBody = this.RULE('queryBody', (): QueryBody => {
    const operands = [this.SUBRULE(this.queryOperand)];
    const operators: SetOperator[] = [];
    this.MANY(() => {
      const word = this.OR([
        { ALT: () => this.CONSUME(keywords.UNION) },
        { ALT: () => this.CONSUME(keywords.INTERSECT) },
        { ALT: () => this.CONSUME(keywords.EXCEPT) },
      ]);
      let isAll = false;
      this.OPTION(() => {
        this.OR2([
          {
            ALT: () => {
              this.CONSUME(keywords.ALL);
              isAll = true;
            },
          },
          { ALT: () => this.CONSUME(keywords.DISTINCT) },
        ]);
      });
      operands.push(this.SUBRULE2(this.queryOperand));
      this.ACTION(() =>
        operators.push({ operator: word.image.toLowerCase() as SetOperator['operator'], isAll }),
      );
    });
    return this.ACTION(() => setOperations(operands, operators));
  });

  private readonly queryOperand = this.RULE(
    'queryOperand',
    (): QueryBody =>
      this.choose<QueryBody>([
        { ALT: () => this.SUBRULE(this.select) },
        { ALT: () => this.SUBRULE(this.values) },
        {
          ALT: () => {
            const query = this.SUBRULE(this.queryInParentheses);
            return this.ACTION(() => withoutParentheses(query));
          },
        },
      ]),
  );

  private readonly values = this.RULE('values', (): ValuesNode => {
    const isInserted = this.ACTION(() => this.insertsNext());
    const { startOffset } = this.CONSUME(keywords.VALUES);
    const rows: Expression[][] = [];
    this.AT_LEAST_ONE_SEP({
      SEP: comma,
      DEF: () => {
        this.ACTION(() => this.takeConstantRows(rows, isInserted));
        const row: Expression[] = [];
        this.CONSUME(leftParenthesis);
        this.ACTION(() => this.takeConstants(row));
        this.AT_LEAST_ONE_SEP2({ SEP: comma, DEF: () => row.push(this.SUBRULE(this.expression)) });
        this.CONSUME(rightParenthesis);
        rows.push(row);
      },
    });
    return this.ACTION(() => ({ kind: 'values', rows, span: this.spanFrom(startOffset) }));
  });

  private readonly select = this.RULE('select', (): SelectNode => {
    const { startOffset } = this.CONSUME(keywords.SELECT);
    let distinct: SelectNode['distinct'];
    this.OPTION(() => {
      this.OR([
        {
          ALT: () => {
            distinct = this.SUBRULE(this.distinct);
          },
        },
        { ALT: () => this.CONSUME(keywords.ALL) },
      ]);
    });
    const items: SelectItem[] = [];
    this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => items.push(this.SUBRULE(this.selectItem)) });
    const from = this.OPTION2(() => this.SUBRULE(this.from)) ?? [];
    const where = this.OPTION3(() => {
      this.CONSUME(keywords.WHERE);
      return this.SUBRULE(this.expression);
    });
    const groupBy = this.OPTION4(() => this.SUBRULE(this.groupBy)) ?? [];
    const having = this.OPTION5(() => {
      this.CONSUME(keywords.HAVING);
      return this.SUBRULE2(this.expression);
    });
    this.OPTION6(() => {
      const { startOffset: start } = this.CONSUME(keywords.WINDOW);
      this.ACTION(() => {
        throw this.failAt(
          'Named windows are not supported; write the window between the parentheses of OVER',
          { start },
        );
      });
    });
    return this.ACTION(() => ({
      kind: 'select',
      distinct,
      items,
      from,
      where,
      groupBy,
      having,
      span: this.spanFrom(startOffset),
    }));
  });

  private readonly distinct = this.RULE('distinct', (): 'all' | Expression[] => {
    this.CONSUME(keywords.DISTINCT);
    const on = this.OPTION(() => {
      this.CONSUME(keywords.ON);
      this.CONSUME(leftParenthesis);
      const list: Expression[] = [];
      this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => list.push(this.SUBRULE(this.expression)) });
      this.CONSUME(rightParenthesis);
      return list;
    });
    return on ?? 'all';
  });

  protected readonly selectItem = this.RULE(
    'selectItem',
    (): SelectItem =>
      this.choose<SelectItem>([
        {
          ALT: () => {
            const token = this.CONSUME(star);
            return this.ACTION(() => ({ kind: 'star', table: undefined, span: spanOf(token) }));
          },
        },
        {
          GATE: () => this.isAhead(2, dot) && this.isAhead(3, star),
          ALT: () => {
            const table = this.CONSUME(identifier);
            this.CONSUME(dot);
            this.CONSUME2(star);
            return this.ACTION(() => ({
              kind: 'star',
              table: nameOf(table),
              span: this.spanFrom(table.startOffset),
            }));
          },
        },
        {
          ALT: () => {
            const expression = this.SUBRULE(this.expression);
            const alias = this.SUBRULE(this.columnAlias);
            return { kind: 'item', expression, alias };
          },
          IGNORE_AMBIGUITIES: true,
        },
      ]),
  );

  private readonly columnAlias = this.RULE('columnAlias', (): string | undefined => {
    let alias: string | undefined;
    this.OPTION(() => {
      const name = this.OR([
        {
          ALT: () => {
            this.CONSUME(keywords.AS);
            return this.CONSUME(anyLabel);
          },
        },
        { ALT: () => this.CONSUME(identifier) },
      ]);
      this.ACTION(() => {
        alias = nameOf(name);
      });
    });
    return alias;
  });

  private readonly groupBy = this.RULE('groupBy', (): Expression[] => {
    this.CONSUME(keywords.GROUP);
    this.CONSUME(keywords.BY);
    const list: Expression[] = [];
    this.AT_LEAST_ONE_SEP({
      SEP: comma,
      DEF: () => {
        this.ACTION(() => this.refuseGrouping());
        list.push(this.SUBRULE(this.expression));
      },
    });
    return list;
  });

  private refuseGrouping(): void {
    const token = this.LA(1);
    const word = token.image.toUpperCase();
    if (GROUPINGS.has(word) && this.isCallAhead()) throw this.unsupported(word, token);
    if (word === 'GROUPING' && this.LA(2).image.toUpperCase() === 'SETS') {
      throw this.unsupported('GROUPING SETS', token);
    }
  }
}

/** A query that is only something in parentheses is that thing: the parentheses say no more than the tree does. */
function withoutParentheses(query: Query): QueryBody {
  const { commonTables, orderBy, limit, offset, isRecursive } = query;
  const isPlain =
    commonTables.length === 0 &&
    orderBy.length === 0 &&
    limit === undefined &&
    offset === undefined &&
    !isRecursive;
  return isPlain ? query.body : query;
}
