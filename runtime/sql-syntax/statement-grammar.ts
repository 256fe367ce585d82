import type { ParserMethod, TokenType } from 'chevrotain';
import { hintForForeign, SHOWN_COLUMNS } from './foreign-statements.ts';
import { spanOf } from './grammar-base.ts';
import type { DataStatement } from './nodes/data-nodes.ts';
import type { ExplainStatement, QueryStatement, Statement } from './nodes/statement-nodes.ts';
import type { Query } from './nodes/syntax-nodes.ts';
import { SessionGrammar } from './session-grammar.ts';
import { keywords, leftParenthesis } from './tokens.ts';
import type { TokenizedStatement } from './tokenize.ts';

/** What a query begins with. */
const queryStarts: readonly TokenType[] = [keywords.SELECT, keywords.VALUES, keywords.WITH, leftParenthesis];
/** What a statement begins with that writes rows. */
const dataStarts: readonly TokenType[] = [keywords.INSERT, keywords.UPSERT, keywords.UPDATE, keywords.DELETE];
/** What the other statements begin with. */
const otherStarts: readonly TokenType[] = [
  keywords.EXPLAIN,
  keywords.MOVE,
  keywords.COPY,
  keywords.ORDER,
  keywords.RELATE,
  keywords.UNRELATE,
  keywords.RESTORE,
  keywords.CREATE,
  keywords.ALTER,
  keywords.DROP,
  keywords.DESCRIBE,
  keywords.SHOW,
  keywords.MERGE,
  keywords.USE,
  keywords.CHECKOUT,
  keywords.BEGIN,
  keywords.START,
  keywords.COMMIT,
  keywords.ROLLBACK,
  keywords.SET,
  keywords.GRANT,
  keywords.REVOKE,
];
const explainable: ReadonlySet<TokenType> = new Set([...queryStarts, ...dataStarts]);
const describable: ReadonlySet<TokenType> = new Set([
  keywords.BRANCH,
  keywords.ROLE,
  keywords.GROUP,
  keywords.USER,
]);
const statementStarts: ReadonlySet<TokenType> = new Set([...explainable, ...otherStarts]);

/** The names of tokens as a list for a message. */
function listed(types: Iterable<TokenType>): string {
  const names = [...types].filter((type) => type !== leftParenthesis).map((type) => type.LABEL ?? type.name);
  const last = names.pop();
  return `${names.join(', ')} or ${last}`;
}

/** The rules for statements. One instance reads one statement after the other. */
export class StatementGrammar extends SessionGrammar {
  /** @param validates as `GrammarBase` */
  constructor(validates = false) {
    super(validates);
    this.performSelfAnalysis();
  }

  /**
   * The tree of a statement.
   *
   * @throws {ServiceError} `VALIDATION_FAILED`, with the place
   */
  read(statement: TokenizedStatement, source: string): Statement {
    try {
      this.begin(statement, source);
      this.refuseForeign();
      this.refuseOtherStart(statementStarts, 'a statement begins with');
      const tree = this.statement();
      const failure = this.failure();
      if (failure !== undefined) throw failure;
      return tree;
    } finally {
      this.end();
    }
  }

  /** @throws {ServiceError} for a statement of PostgreSQL that has something else in its place here, with that */
  private refuseForeign(): void {
    const first = this.LA(1);
    const foreign = hintForForeign([first.image, this.LA(2).image]);
    if (foreign === undefined) return;
    throw this.failAt(`Syntax error: there is no ${foreign.name} here. ${foreign.hint}`, spanOf(first));
  }

  /**
   * @param hint behind the list
   * @throws {ServiceError} when the next token is none of these, with a list of them
   */
  private refuseOtherStart(starts: ReadonlySet<TokenType>, text: string, hint = ''): void {
    const first = this.LA(1);
    if (first.image === '' || starts.has(first.tokenType)) return;
    const image = first.image.length > 40 ? `${first.image.slice(0, 40).toWellFormed()}…` : first.image;
    throw this.failAt(`Syntax error: ${text} ${listed(starts)}, found "${image}"${hint}`, spanOf(first));
  }

  /** The first token decides, and of CREATE, ALTER, DROP, DESCRIBE and SHOW the second. */
  private readonly statement: ParserMethod<[], Statement> = this.RULE(
    'statement',
    (): Statement =>
      this.choose<Statement>([
        { ALT: () => this.SUBRULE(this.queryStatement) },
        { ALT: () => this.SUBRULE(this.explain) },
        { ALT: () => this.SUBRULE(this.insert) },
        { ALT: () => this.SUBRULE(this.update) },
        { ALT: () => this.SUBRULE(this.deleteRows) },
        { ALT: () => this.SUBRULE(this.move) },
        { ALT: () => this.SUBRULE(this.copy) },
        { ALT: () => this.SUBRULE(this.order) },
        { ALT: () => this.SUBRULE(this.relate) },
        { ALT: () => this.SUBRULE(this.unrelate) },
        { ALT: () => this.SUBRULE(this.restore) },
        { ALT: () => this.SUBRULE(this.create) },
        { ALT: () => this.SUBRULE(this.alter) },
        { ALT: () => this.SUBRULE(this.drop) },
        { ALT: () => this.SUBRULE(this.describe) },
        { ALT: () => this.SUBRULE(this.show) },
        { ALT: () => this.SUBRULE(this.mergeBranch) },
        { ALT: () => this.SUBRULE(this.useBranch) },
        { ALT: () => this.SUBRULE(this.beginTransaction) },
        { ALT: () => this.SUBRULE(this.commit) },
        { ALT: () => this.SUBRULE(this.rollback) },
        { ALT: () => this.SUBRULE(this.setVariable) },
        { ALT: () => this.SUBRULE(this.grant) },
      ]),
  );

  private readonly queryStatement = this.RULE('queryStatement', (): QueryStatement => {
    const query = this.SUBRULE(this.query);
    return this.ACTION(() => ({ kind: 'query-statement', query, span: query.span }));
  });

  private readonly explain = this.RULE('explain', (): ExplainStatement => {
    const { startOffset } = this.CONSUME(keywords.EXPLAIN);
    const analyze = this.OPTION(() => this.CONSUME(keywords.ANALYZE));
    const verbose = this.OPTION2(() => this.CONSUME(keywords.VERBOSE));
    const start = this.ACTION(() => this.nextStart);
    this.ACTION(() => this.refuseOtherStart(explainable, 'EXPLAIN is for'));
    const statement = this.choose<ExplainStatement['statement']>([
      { ALT: () => this.SUBRULE(this.query) },
      { ALT: () => this.SUBRULE(this.explainedChange) },
    ]);
    return this.ACTION(() => {
      if (analyze !== undefined && statement.kind !== 'query') {
        throw this.failAt('EXPLAIN ANALYZE runs the statement, so it is for queries only', { start });
      }
      return {
        kind: 'explain',
        isAnalyze: analyze !== undefined,
        isVerbose: verbose !== undefined,
        statement: statement as Query | DataStatement,
        span: this.spanFrom(startOffset),
      };
    });
  });

  private readonly explainedChange = this.RULE(
    'explainedChange',
    (): DataStatement =>
      this.choose<DataStatement>([
        { ALT: () => this.SUBRULE(this.insert) },
        { ALT: () => this.SUBRULE(this.deleteRows) },
        {
          ALT: () => {
            const statement = this.SUBRULE(this.update);
            return this.ACTION((): DataStatement => {
              if (statement.kind === 'update') return statement;
              throw this.failAt('UPDATE … FOR LOCALE cannot be explained', statement.span);
            });
          },
        },
      ]),
  );

  private readonly create = this.RULE('create', (): Statement => {
    const { startOffset } = this.CONSUME(keywords.CREATE);
    return this.choose<Statement>([
      { ALT: () => this.SUBRULE(this.createDefinition, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.createAccess, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.createBranch, { ARGS: [startOffset] }) },
    ]);
  });

  private readonly alter = this.RULE('alter', (): Statement => {
    const { startOffset } = this.CONSUME(keywords.ALTER);
    return this.choose<Statement>([
      { ALT: () => this.SUBRULE(this.alterDefinition, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.alterAccess, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.alterBranch, { ARGS: [startOffset] }) },
    ]);
  });

  private readonly drop = this.RULE('drop', (): Statement => {
    const { startOffset } = this.CONSUME(keywords.DROP);
    return this.choose<Statement>([
      { ALT: () => this.SUBRULE(this.dropDefinition, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.dropAccess, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.dropBranch, { ARGS: [startOffset] }) },
    ]);
  });

  private readonly describe = this.RULE('describe', (): Statement => {
    const { startOffset } = this.CONSUME(keywords.DESCRIBE);
    this.ACTION(() => this.refuseOtherStart(describable, 'DESCRIBE is for', `. ${SHOWN_COLUMNS}`));
    return this.choose<Statement>([
      { ALT: () => this.SUBRULE(this.describeAccess, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.describeBranch, { ARGS: [startOffset] }) },
    ]);
  });

  /** What no other alternative knows is the name of a variable. */
  private readonly show = this.RULE('show', (): Statement => {
    const { startOffset } = this.CONSUME(keywords.SHOW);
    return this.choose<Statement>([
      { ALT: () => this.SUBRULE(this.showBranches, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.showCurrentBranch, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.showDivergence, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.showConflicts, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.showAccess, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.showSecurity, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.showPermissions, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.showEffectiveRoles, { ARGS: [startOffset] }) },
      { ALT: () => this.SUBRULE(this.showVariable, { ARGS: [startOffset] }), IGNORE_AMBIGUITIES: true },
    ]);
  });
}
