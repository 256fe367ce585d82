import { invalid } from '#runtime/errors/service-error.ts';
import type { Statement } from './nodes/statement-nodes.ts';
import { sampleStatements } from './sample-statements.ts';
import { StatementGrammar } from './statement-grammar.ts';
import { TextCache } from './text-cache.ts';
import { tokenize } from './tokenize.ts';
import { checkTreeDepth } from './tree-depth.ts';

/** Tokens of a statement from which on it is read in a step of its own, and its tree is checked in another one. */
const PAUSED_TOKENS = 500;

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

/** How often the samples are read: V8 has compiled by then what is used most. */
const SAMPLE_ROUNDS = 6;

/**
 * Makes the parser and uses it for a while, so that no statement has to wait for that. Called while a process starts; it takes some
 * 200 ms.
 */
export function prepareParser(): void {
  for (let round = 0; round < SAMPLE_ROUNDS; round += 1) {
    for (const sample of sampleStatements) finish(readStatements(sample));
  }
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

/** The statements of a text that was read not long ago; undefined: it has to be read. */
export function knownStatements(text: string): readonly ParsedStatement[] | undefined {
  return known.find(text);
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
    const isLong = piece.tokens.length > PAUSED_TOKENS;
    if (isLong || statements.length > 0) yield;
    const statement = parser.read(piece, text);
    if (isLong) yield;
    checkTreeDepth(statement, text);
    statements.push({ text, statement });
    if (isLong) yield;
  }
  if (statements.length === 0) throw invalid('No valid statements to execute');
  return statements;
}

/** Reads a text at once. @throws {ServiceError} as `parseStatementsInSteps` */
export function parseStatements(text: string): readonly ParsedStatement[] {
  return finish(parseStatementsInSteps(text));
}

function finish<T>(steps: Generator<undefined, T>): T {
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
