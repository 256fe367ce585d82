import {
  EmbeddedActionsParser,
  EOF,
  type IParserErrorMessageProvider,
  type IOrAlt,
  type IToken,
  type TokenType,
} from 'chevrotain';
import { sqlError, statementTooLong } from './sql-error.ts';
import type { Span } from './nodes/syntax-nodes.ts';
import { identifier, leftParenthesis, number, parameter, quotedName, text, vocabulary } from './tokens.ts';
import type { TokenizedStatement } from './tokenize.ts';

/** Most things that an error names as expected. */
const EXPECTED_MAX = 6;
/** Longest part of a token that an error repeats, in UTF-16 units. */
const FOUND_LENGTH_MAX = 40;

function found(token: IToken): string {
  if (token.tokenType === EOF) return 'the end of the statement';
  const { image } = token;
  const shown =
    image.length > FOUND_LENGTH_MAX ? `${image.slice(0, FOUND_LENGTH_MAX).toWellFormed()}…` : image;
  return token.tokenType === text || token.tokenType === quotedName ? shown : `"${shown}"`;
}

/** Names what may stand at a place, shortly: what begins an expression is called so. */
function expected(types: readonly TokenType[]): string {
  const names = new Set(types.map((type) => type.LABEL ?? type.name));
  const beginsExpression = [number, text, parameter, identifier, leftParenthesis].every((type) =>
    types.includes(type),
  );
  if (beginsExpression) return 'an expression';
  const list = [...names];
  if (list.length === 0 || list.length > EXPECTED_MAX) return '';
  const last = list.pop();
  return list.length === 0 ? String(last) : `${list.join(', ')} or ${last}`;
}

function syntaxError(types: readonly TokenType[], actual: IToken): string {
  const wanted = expected(types);
  return wanted === ''
    ? `Syntax error: unexpected ${found(actual)}`
    : `Syntax error: expected ${wanted}, found ${found(actual)}`;
}

const messages: IParserErrorMessageProvider = {
  buildMismatchTokenMessage: ({ expected: type, actual }) => syntaxError([type], actual),
  buildNotAllInputParsedMessage: ({ firstRedundant }) => syntaxError([], firstRedundant),
  buildNoViableAltMessage: ({ expectedPathsPerAlt, actual }) =>
    syntaxError(
      expectedPathsPerAlt.flat().flatMap((path) => path.slice(0, 1)),
      actual[0]!,
    ),
  buildEarlyExitMessage: ({ expectedIterationPaths, actual }) =>
    syntaxError(
      expectedIterationPaths.flatMap((path) => path.slice(0, 1)),
      actual[0]!,
    ),
};

/**
 * Most tokens of a statement that rules read. Each takes some 2 to 5 µs, and rules cannot be interrupted. Constants of lists are
 * read without rules.
 */
export const RULE_TOKENS_MAX = 2_000;

/**
 * Most tokens of a statement without the rows of constants of an INSERT. Lists of constants are bound in one step, about 0.3 µs for
 * each token; those rows are bound one after the other.
 */
export const LIST_TOKENS_MAX = 10_000;

/** What Chevrotain calls for each token that a rule reads; its types leave it out. */
interface TokenReader {
  consumeToken(): void;
}
const { consumeToken } = EmbeddedActionsParser.prototype as unknown as TokenReader;

/** What the rules of the grammar share: the statement being read, places in it, and names. */
export abstract class GrammarBase extends EmbeddedActionsParser {
  #source = '';
  #queryParentheses: ReadonlySet<IToken> = new Set();
  #ruleTokens = 0;
  #listTokens = 0;

  /** @param validates whether the grammar is checked for ambiguities, which doubles the time; a test does so */
  constructor(validates: boolean) {
    // One token ahead decides nearly everywhere; the rest is told by gates, which cost less than a longer look.
    super(vocabulary, { maxLookahead: 1, skipValidations: !validates, errorMessageProvider: messages });
  }

  /** Makes a statement the one to be read. */
  protected begin(statement: TokenizedStatement, source: string): void {
    this.input = [...statement.tokens];
    this.#source = source;
    this.#queryParentheses = statement.queryParentheses;
    this.#ruleTokens = 0;
    this.#listTokens = 0;
  }

  /** Counts the tokens that rules read. @throws {ServiceError} `VALIDATION_FAILED` when they are too many */
  protected consumeToken(): void {
    this.#ruleTokens += 1;
    if (this.#ruleTokens > RULE_TOKENS_MAX) {
      throw this.failAt(
        `Statement too long: more than ${RULE_TOKENS_MAX} words and signs besides the constants of lists. Pass long lists as a parameter: = ANY($1)`,
        { start: this.LA(1).startOffset },
      );
    }
    consumeToken.call(this);
  }

  /**
   * Passes over tokens that were read without a rule.
   *
   * @param isFree whether they do not count for the bound of the statement
   * @throws {ServiceError} `VALIDATION_FAILED` when they are too many
   */
  protected skipTokens(count: number, isFree = false): void {
    this.#ruleTokens -= count;
    if (!isFree) this.#listTokens += count;
    if (this.#listTokens > LIST_TOKENS_MAX)
      throw statementTooLong(LIST_TOKENS_MAX, this.#source, this.nextStart);
    for (let skipped = 0; skipped < count; skipped += 1) this.SKIP_TOKEN();
  }

  /** Lets go of the statement, so that its text is not kept. */
  protected end(): void {
    this.input = [];
    this.#source = '';
    this.#queryParentheses = new Set();
  }

  /** Whether the next token opens parentheses in which a query stands. */
  protected isQueryAhead(): boolean {
    return this.#queryParentheses.has(this.LA(1));
  }

  /** Whether the token at a distance is of a type; 1 is the next one. */
  protected isAhead(distance: number, ...types: readonly TokenType[]): boolean {
    const { tokenType } = this.LA(distance);
    return types.includes(tokenType);
  }

  /** Whether the next tokens are a name with an opening parenthesis behind it. */
  protected isCallAhead(): boolean {
    return this.isAhead(2, leftParenthesis);
  }

  /** `OR` with the type of what its alternatives give. */
  protected choose<T>(alternatives: readonly IOrAlt<T>[]): T {
    return this.OR(alternatives as IOrAlt<T>[]) as T;
  }

  protected failAt(text: string, span: Pick<Span, 'start'>): Error {
    return sqlError(text, this.#source, span);
  }

  /** The error of the first rule that did not fit, if one did not. */
  protected failure(): Error | undefined {
    const [first] = this.errors;
    if (first === undefined) return undefined;
    const { token, previousToken } = first as { token: IToken; previousToken?: IToken };
    const start =
      token.tokenType === EOF && previousToken !== undefined ? endOf(previousToken) : token.startOffset;
    return this.failAt(first.message, { start });
  }

  /** The offset of the next token; behind the last one, that of its end. */
  protected get nextStart(): number {
    const next = this.LA(1);
    return next.tokenType === EOF ? this.lastEnd : next.startOffset;
  }

  /** The offset behind the token that was read last. */
  protected get lastEnd(): number {
    return endOf(this.LA(0));
  }

  /** From an offset to the end of what was read. */
  protected spanFrom(start: number): Span {
    return { start, end: this.lastEnd };
  }
}

/** The offset behind a token. */
export function endOf(token: IToken): number {
  return token.startOffset + token.image.length;
}

/** The place of a token. */
export function spanOf(token: IToken): Span {
  return { start: token.startOffset, end: endOf(token) };
}

/** What a name means: its characters, or those between its quotation marks. */
export function nameOf(token: IToken): string {
  return token.tokenType === quotedName ? token.image.slice(1, -1).replaceAll('""', '"') : token.image;
}

/** What a string means. */
export function textOf(token: IToken): string {
  if (token.tokenType === text) return token.image.slice(1, -1).split("''").join("'");
  const tagLength = token.image.indexOf('$', 1) + 1;
  return token.image.slice(tagLength, -tagLength);
}
