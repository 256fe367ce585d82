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

let grammar: QueryGrammar | undefined;

/** One parser reads everything: making it analyses the grammar, which takes some 50 ms. */
function theGrammar(): QueryGrammar {
  grammar ??= new QueryGrammar();
  return grammar;
}

/** Makes the parser, so that the first statement need not wait for it. Called while a process starts. */
export function prepareParser(): void {
  parseStatements('SELECT 1');
}

/**
 * Reads a text of one or several statements with `;` between them. Empty ones are left out. It gives way between two
 * statements, so that a long text does not hold the event loop.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` with the place: bad syntax, no statement in it, or a bound of `tokenize`
 *   or `checkTreeDepth`
 */
export function* parseStatementsInSteps(text: string): Generator<undefined, readonly ParsedStatement[]> {
  if (text.trim() === '') throw invalid('Empty statement');
  const parser = theGrammar();
  const statements: ParsedStatement[] = [];
  for (const piece of tokenize(text)) {
    if (statements.length > 0) yield;
    const statement = parser.read(piece, text);
    checkTreeDepth(statement, text);
    statements.push({ text, statement });
  }
  if (statements.length === 0) throw invalid('No valid statements to execute');
  return statements;
}

/** Reads a text at once. @throws {ServiceError} as `parseStatementsInSteps` */
export function parseStatements(text: string): readonly ParsedStatement[] {
  const steps = parseStatementsInSteps(text);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** Reads a text of exactly one statement. @throws {ServiceError} as `parseStatements`, and when there are several */
export function parseStatement(text: string): Statement {
  const [first, second] = parseStatements(text);
  if (first === undefined || second !== undefined) throw invalid('Expected one statement, got several');
  return first.statement;
}
