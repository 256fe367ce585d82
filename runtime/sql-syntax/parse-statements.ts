import { invalid } from '#runtime/errors/service-error.ts';
import type { Statement } from './nodes/statement-nodes.ts';
import { QueryGrammar } from './query-grammar.ts';
import { tokenize } from './tokenize.ts';
import { checkTreeDepth } from './tree-depth.ts';

/** One statement of a text. */
export interface ParsedStatement {
  /** The whole text of the request: the spans of the tree are offsets in it. */
  readonly text: string;
  readonly statement: Statement;
}

/** Made once, when it is needed first: it analyses the grammar, which takes some ten milliseconds. */
let grammar: QueryGrammar | undefined;

/**
 * Reads a text of one or several statements with `;` between them. Empty ones are left out.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` with the place: bad syntax, no statement in it, or a bound of `tokenize`
 *   or `checkTreeDepth`
 */
export function parseStatements(text: string): readonly ParsedStatement[] {
  if (text.trim() === '') throw invalid('Empty statement');
  const pieces = tokenize(text);
  if (pieces.length === 0) throw invalid('No valid statements to execute');
  grammar ??= new QueryGrammar();
  const parser = grammar;
  return pieces.map((piece) => {
    const statement = parser.read(piece, text);
    checkTreeDepth(statement, text);
    return { text, statement };
  });
}

/** Reads a text of exactly one statement. @throws {ServiceError} as `parseStatements`, and when there are several */
export function parseStatement(text: string): Statement {
  const statements = parseStatements(text);
  const [first] = statements;
  if (first === undefined || statements.length > 1) {
    throw invalid(`Expected one statement, got ${statements.length}`);
  }
  return first.statement;
}

/** As `parseStatements`, but gives way between statements, so that a long text does not hold the event loop. */
export function* parseStatementsInSteps(text: string): Generator<undefined, readonly ParsedStatement[]> {
  return parseStatements(text);
}
