import { ExpressionGrammar } from './expression-grammar.ts';
import { nameOf, spanOf, textOf } from './grammar-base.ts';
import type { Expression, JoinNode, Source } from './nodes/syntax-nodes.ts';
import { comma, identifier, keywords, leftParenthesis, rightParenthesis, text } from './tokens.ts';

/** What follows the name or the query of a source. */
interface SourceAlias {
  readonly alias: string | undefined;
  readonly columnAliases: readonly string[];
}

/** The rules for FROM: tables, queries and functions, and what joins them. */
export abstract class SourceGrammar extends ExpressionGrammar {
  protected readonly from = this.RULE('from', (): Source[] => {
    this.CONSUME(keywords.FROM);
    const sources: Source[] = [];
    this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => sources.push(this.SUBRULE(this.source)) });
    return sources;
  });

  /** `(a, b)` as names. */
  protected readonly nameList = this.RULE('nameList', (): string[] => {
    const names: string[] = [];
    this.CONSUME(leftParenthesis);
    this.AT_LEAST_ONE_SEP({
      SEP: comma,
      DEF: () => {
        const name = this.CONSUME(identifier);
        this.ACTION(() => names.push(nameOf(name)));
      },
    });
    this.CONSUME(rightParenthesis);
    return names;
  });

  /** A source and what is joined to it, from the left. */
  private readonly source = this.RULE('source', (): Source => {
    const start = this.ACTION(() => this.nextStart);
    let left = this.SUBRULE(this.sourceOperand);
    this.MANY(() => {
      const type = this.SUBRULE(this.joinType);
      const right = this.SUBRULE2(this.sourceOperand);
      const on = this.OPTION({
        GATE: () => type !== 'cross',
        DEF: () => this.SUBRULE(this.joinCondition),
      });
      left = this.ACTION(() => {
        if (type !== 'cross' && on === undefined) {
          throw this.failAt('Syntax error: expected ON behind JOIN', { start: this.lastEnd });
        }
        return { kind: 'join', type, left, right, on, span: this.spanFrom(start) };
      });
    });
    return left;
  });

  private readonly joinCondition = this.RULE(
    'joinCondition',
    (): Expression =>
      this.choose<Expression>([
        {
          ALT: () => {
            this.CONSUME(keywords.ON);
            return this.SUBRULE(this.expression);
          },
        },
        {
          ALT: () => {
            const word = this.CONSUME(keywords.USING);
            return this.ACTION((): Expression => {
              throw this.failAt('JOIN … USING is not supported; write JOIN … ON', spanOf(word));
            });
          },
        },
      ]),
  );

  private readonly joinType = this.RULE('joinType', (): JoinNode['type'] => {
    let type: JoinNode['type'] = 'inner';
    this.OPTION(() => {
      this.OR([
        {
          ALT: () => {
            this.CONSUME(keywords.CROSS);
            type = 'cross';
          },
        },
        { ALT: () => this.CONSUME(keywords.INNER) },
        {
          ALT: () => {
            const word = this.CONSUME(keywords.NATURAL);
            this.ACTION(() => {
              throw this.failAt('NATURAL JOIN is not supported; write JOIN … ON', spanOf(word));
            });
          },
        },
        {
          ALT: () => {
            const side = this.OR2([
              { ALT: () => this.CONSUME(keywords.LEFT) },
              { ALT: () => this.CONSUME(keywords.RIGHT) },
              { ALT: () => this.CONSUME(keywords.FULL) },
            ]);
            this.OPTION2(() => this.CONSUME(keywords.OUTER));
            this.ACTION(() => {
              type = side.image.toLowerCase() as JoinNode['type'];
            });
          },
        },
      ]);
    });
    this.CONSUME(keywords.JOIN);
    return type;
  });

  private readonly sourceOperand = this.RULE('sourceOperand', (): Source => {
    const start = this.ACTION(() => this.nextStart);
    const isLateral = this.OPTION(() => this.CONSUME(keywords.LATERAL)) !== undefined;
    return this.choose<Source>([
      {
        GATE: () => this.isQueryAhead(),
        ALT: () => {
          const query = this.SUBRULE(this.queryInParentheses);
          const names = this.SUBRULE(this.sourceAlias);
          return this.ACTION(() => ({
            kind: 'derived-table',
            query,
            ...names,
            isLateral,
            span: this.spanFrom(start),
          }));
        },
      },
      {
        GATE: () => !isLateral,
        ALT: () => {
          this.CONSUME(leftParenthesis);
          const source = this.SUBRULE(this.source);
          this.CONSUME(rightParenthesis);
          return source;
        },
        IGNORE_AMBIGUITIES: true,
      },
      {
        GATE: () => this.isCallAhead(),
        ALT: () => {
          const name = this.CONSUME(identifier);
          const args = this.SUBRULE(this.functionArguments);
          const names = this.SUBRULE2(this.sourceAlias);
          return this.ACTION(() => ({
            kind: 'function-table',
            name: nameOf(name).toUpperCase(),
            args,
            ...names,
            isLateral,
            span: this.spanFrom(start),
          }));
        },
      },
      {
        GATE: () => !isLateral,
        ALT: () => {
          const name = this.OR2([
            { ALT: () => this.CONSUME2(identifier) },
            { ALT: () => this.CONSUME(text) },
          ]);
          const names = this.SUBRULE3(this.sourceAlias);
          return this.ACTION(() => ({
            kind: 'table',
            name: name.tokenType === text ? textOf(name) : nameOf(name),
            isBare: name.image[0] !== '"' && name.image[0] !== "'",
            ...names,
            span: this.spanFrom(start),
          }));
        },
        IGNORE_AMBIGUITIES: true,
      },
    ]);
  });

  private readonly functionArguments = this.RULE('functionArguments', (): Expression[] => {
    const args: Expression[] = [];
    this.CONSUME(leftParenthesis);
    this.MANY_SEP({ SEP: comma, DEF: () => args.push(this.SUBRULE(this.expression)) });
    this.CONSUME(rightParenthesis);
    return args;
  });

  private readonly sourceAlias = this.RULE('sourceAlias', (): SourceAlias => {
    let alias: string | undefined;
    let columnAliases: readonly string[] = [];
    this.OPTION(() => {
      this.OPTION2(() => this.CONSUME(keywords.AS));
      const name = this.CONSUME(identifier);
      this.ACTION(() => {
        alias = nameOf(name);
      });
      columnAliases = this.OPTION3(() => this.SUBRULE(this.nameList)) ?? [];
    });
    return { alias, columnAliases };
  });
}
