import { GivenGrammar } from './given-grammar.ts';
import { nameOf, spanOf } from './grammar-base.ts';
import type { WorkspaceName } from './nodes/given-nodes.ts';
import type {
  Assignment,
  DeleteStatement,
  InsertStatement,
  ReturningClause,
  UpdateStatement,
  WrittenColumn,
} from './nodes/data-nodes.ts';
import type { Expression, SelectItem } from './nodes/syntax-nodes.ts';
import type { TokenizedStatement } from './tokenize.ts';
import { comma, equal, identifier, keywords, leftParenthesis, rightParenthesis } from './tokens.ts';

/** What follows a table that another is joined to. */
const joinStarts = [
  comma,
  keywords.JOIN,
  keywords.INNER,
  keywords.LEFT,
  keywords.RIGHT,
  keywords.FULL,
  keywords.CROSS,
  keywords.NATURAL,
  keywords.FROM,
  keywords.USING,
];

/** The rules for statements that write rows: INSERT, UPSERT, UPDATE, DELETE. */
export abstract class DataGrammar extends GivenGrammar {
  /** Where the rows of the INSERT begin that is read. */
  #rowsStart = -1;

  protected insertsNext(): boolean {
    return this.nextStart === this.#rowsStart;
  }

  protected override begin(statement: TokenizedStatement, source: string): void {
    super.begin(statement, source);
    this.#rowsStart = -1;
  }

  protected readonly insert = this.RULE('insert', (): InsertStatement => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.INSERT) },
      { ALT: () => this.CONSUME(keywords.UPSERT) },
    ]);
    this.CONSUME(keywords.INTO);
    const table = this.SUBRULE(this.workspaceName);
    this.ACTION(() => {
      if (!this.isAhead(1, leftParenthesis) || this.isQueryAhead()) {
        throw this.failAt(
          `Syntax error: ${word.image.toUpperCase()} needs a list of columns behind the workspace, as (path, node_type)`,
          { start: this.nextStart },
        );
      }
    });
    const columns = this.SUBRULE(this.writtenColumns);
    this.ACTION(() => {
      this.#rowsStart = this.nextStart;
    });
    const source = this.SUBRULE(this.query);
    this.ACTION(() => {
      if (!this.isAhead(1, keywords.ON)) return;
      throw this.failAt(
        'ON CONFLICT is not supported; write UPSERT INTO to replace a node with the same path',
        {
          start: this.nextStart,
        },
      );
    });
    const returning = this.SUBRULE(this.returning);
    return this.ACTION(() => ({
      kind: 'insert',
      isUpsert: word.tokenType === keywords.UPSERT,
      table,
      columns,
      source,
      returning,
      span: this.spanFrom(word.startOffset),
    }));
  });

  private readonly writtenColumns = this.RULE('writtenColumns', (): WrittenColumn[] => {
    const columns: WrittenColumn[] = [];
    this.CONSUME(leftParenthesis);
    this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => columns.push(this.SUBRULE(this.writtenColumn)) });
    this.CONSUME(rightParenthesis);
    return columns;
  });

  private readonly writtenColumn = this.RULE('writtenColumn', (): WrittenColumn => {
    const token = this.CONSUME(identifier);
    return this.ACTION(() => ({ name: nameOf(token), span: spanOf(token) }));
  });

  /** `RETURNING …`, if it stands there. */
  private readonly returning = this.RULE('returning', (): ReturningClause | undefined =>
    this.OPTION(() => {
      const { startOffset } = this.CONSUME(keywords.RETURNING);
      const items: SelectItem[] = [];
      this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => items.push(this.SUBRULE(this.selectItem)) });
      return this.ACTION(() => ({ items, span: this.spanFrom(startOffset) }));
    }),
  );

  /**
   * What follows the workspace in an UPDATE of rows.
   *
   * @param start the offset of UPDATE
   */
  protected readonly updateTail = this.RULE(
    'updateTail',
    (start: number, table: WorkspaceName): UpdateStatement => {
      this.CONSUME(keywords.SET);
      this.ACTION(() => this.refuseTuple());
      const assignments: Assignment[] = [];
      this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => assignments.push(this.SUBRULE(this.assignment)) });
      this.ACTION(() => this.refuseJoin());
      const where = this.SUBRULE(this.where);
      const returning = this.SUBRULE(this.returning);
      return this.ACTION(() => ({
        kind: 'update',
        table,
        assignments,
        where,
        returning,
        span: this.spanFrom(start),
      }));
    },
  );

  private readonly assignment = this.RULE('assignment', (): Assignment => {
    this.ACTION(() => this.refuseTuple());
    const column = this.SUBRULE(this.writtenColumn);
    this.CONSUME(equal);
    const value = this.SUBRULE(this.expression);
    return { column, value };
  });

  private refuseTuple(): void {
    if (!this.isAhead(1, leftParenthesis)) return;
    throw this.failAt('Tuple assignments in SET clause not yet supported', { start: this.nextStart });
  }

  protected readonly deleteRows = this.RULE('deleteRows', (): DeleteStatement => {
    const { startOffset } = this.CONSUME(keywords.DELETE);
    this.CONSUME(keywords.FROM);
    const table = this.SUBRULE(this.workspaceName);
    this.ACTION(() => this.refuseJoin());
    const where = this.SUBRULE(this.where);
    const returning = this.SUBRULE(this.returning);
    return this.ACTION(() => ({
      kind: 'delete',
      table,
      where,
      returning,
      span: this.spanFrom(startOffset),
    }));
  });

  private readonly where = this.RULE('where', (): Expression | undefined =>
    this.OPTION(() => {
      this.CONSUME(keywords.WHERE);
      return this.SUBRULE(this.expression);
    }),
  );

  /** @throws {ServiceError} when a second table stands here, in whatever way it is joined */
  protected refuseJoin(): void {
    if (!this.isAhead(1, ...joinStarts)) return;
    throw this.failAt('JOINs in UPDATE/DELETE are not supported', { start: this.nextStart });
  }
}
