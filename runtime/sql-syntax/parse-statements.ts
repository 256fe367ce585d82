import { invalid } from '#runtime/errors/service-error.ts';
import type { Statement } from './nodes/statement-nodes.ts';
import { StatementGrammar } from './statement-grammar.ts';
import { TextCache } from './text-cache.ts';
import { tokenize } from './tokenize.ts';
import { checkTreeDepth } from './tree-depth.ts';

/** Tokens of a statement from which on its tree is checked in a step of its own. */
const PAUSED_TOKENS = 1_000;

/** One statement of a text. */
export interface ParsedStatement {
  /** The whole text of the request: the spans of the tree are offsets in it. */
  readonly text: string;
  readonly statement: Statement;
}

let grammar: StatementGrammar | undefined;

/** One parser reads everything: making it analyses the grammar, which takes some 50 ms. */
function theGrammar(): StatementGrammar {
  grammar ??= new StatementGrammar();
  return grammar;
}

/** Makes the parser, so that the first statement need not wait for it. Called while a process starts. */
export function prepareParser(): void {
  parseStatements('SELECT 1');
}

/**
 * Texts that were read, so that neither the actors read what the session has read, nor a text with parameters is read each
 * time it comes. A tree takes some 20 to 100 bytes for each character of its text.
 */
const known = new TextCache<readonly ParsedStatement[]>(
  { textLengthMax: 8_192, lengthMax: 300_000, entriesMax: 2_000, weakMax: 16 },
  ([first]) => first?.text,
);

/**
 * Reads a text of one or several statements with `;` between them. Empty ones are left out. It gives way between two
 * statements and within long ones, so that a long text does not hold the event loop. The same trees may be given again for the same text.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` with the place: bad syntax, no statement in it, or a bound of `tokenize`
 *   or `checkTreeDepth`
 */
export function* parseStatementsInSteps(text: string): Generator<undefined, readonly ParsedStatement[]> {
  const before = known.find(text);
  if (before !== undefined) return before;
  const statements = yield* readStatements(text);
  known.keep(text, statements);
  return statements;
}

function* readStatements(text: string): Generator<undefined, readonly ParsedStatement[]> {
  if (text.trim() === '') throw invalid('Empty statement');
  const parser = theGrammar();
  const statements: ParsedStatement[] = [];
  for (const piece of tokenize(text)) {
    if (piece === undefined) {
      yield;
      continue;
    }
    if (statements.length > 0) yield;
    const statement = parser.read(piece, text);
    if (piece.tokens.length > PAUSED_TOKENS) yield;
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
