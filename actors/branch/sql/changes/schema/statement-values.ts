import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { givenText } from '#runtime/sql-plan/given-values.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { ChangeContext } from '../change-context.ts';

/** What a statement about the schema gives, with the parameters put in. */
export class StatementValues {
  readonly context: Pick<ChangeContext, 'scope' | 'source'>;

  constructor(context: Pick<ChangeContext, 'scope' | 'source'>) {
    this.context = context;
  }

  /** @throws {ServiceError} as `givenText` */
  text(node: GivenText): string {
    return givenText(node, this.context.scope, this.context.source);
  }

  /** @throws {ServiceError} as `givenText` */
  texts(nodes: readonly GivenText[]): readonly string[] {
    return nodes.map((node) => this.text(node));
  }

  /** `VALIDATION_FAILED` at a place of the statement. */
  error(text: string, span: Pick<Span, 'start'>): ServiceError {
    return sqlError(text, this.context.source, span);
  }
}
