import { createToken, Lexer, type TokenType } from 'chevrotain';
import {
  dollarTagAt,
  endOfBlockComment,
  endOfDollarText,
  endOfLineComment,
  endOfQuoted,
  UNTERMINATED,
} from './opaque-text.ts';

/** What may stand where a name is expected: words that are no reserved keyword, and quoted names. */
export const identifier = createToken({ name: 'Identifier', label: 'a name', pattern: Lexer.NA });
/** What may stand behind AS: any word, reserved or not. */
export const anyLabel = createToken({ name: 'AnyLabel', label: 'a name', pattern: Lexer.NA });

/** A word. The lexer makes every word one; `keywordOf` tells which of them are keywords. */
export const word = createToken({
  name: 'Word',
  label: 'a name',
  pattern: /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/,
  categories: [identifier, anyLabel],
});

/** A pattern of the lexer from a function that gives the end of what begins at an offset. */
function pattern(endOf: (text: string, start: number) => number) {
  return (text: string, start: number): [string] | null => {
    const end = endOf(text, start);
    return end === UNTERMINATED ? null : [text.slice(start, end)];
  };
}

/** A name in quotation marks. */
export const quotedName = createToken({
  name: 'QuotedName',
  label: 'a name',
  pattern: pattern((text, start) => (text[start] === '"' ? endOfQuoted(text, start) : UNTERMINATED)),
  start_chars_hint: ['"'],
  line_breaks: true,
  categories: [identifier, anyLabel],
});
/** A string `'…'`. */
export const text = createToken({
  name: 'Text',
  label: 'a string',
  pattern: pattern((source, start) => (source[start] === "'" ? endOfQuoted(source, start) : UNTERMINATED)),
  start_chars_hint: ["'"],
  line_breaks: true,
});
/** A string `$$…$$` or `$tag$…$tag$`. */
export const dollarText = createToken({
  name: 'DollarText',
  label: 'a string',
  pattern: pattern((source, start) => {
    const tag = dollarTagAt(source, start);
    return tag === undefined ? UNTERMINATED : endOfDollarText(source, start, tag);
  }),
  start_chars_hint: ['$'],
  line_breaks: true,
});
/** A number without a sign. */
export const number = createToken({
  name: 'Number',
  label: 'a number',
  pattern: /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/,
});
/** `1700000000000_3`: a revision, in the few places where one may stand. */
export const revisionNumber = createToken({
  name: 'RevisionNumber',
  label: 'a revision',
  pattern: /\d+_\d+(?![\w$\u0080-\uffff])/,
});
/** `$1`. */
export const parameter = createToken({ name: 'Parameter', label: 'a parameter', pattern: /\$\d+/ });
/** The beginning of `$.properties.a`. */
export const pathStart = createToken({ name: 'PathStart', label: '$.', pattern: /\$\./ });

const whiteSpace = createToken({
  name: 'WhiteSpace',
  pattern: /[ \t\r\n\f\v]+/,
  group: Lexer.SKIPPED,
  line_breaks: true,
});
const lineComment = createToken({
  name: 'LineComment',
  pattern: pattern((source, start) =>
    source.startsWith('--', start) ? endOfLineComment(source, start) : UNTERMINATED,
  ),
  start_chars_hint: ['-'],
  line_breaks: false,
  group: Lexer.SKIPPED,
});
const blockComment = createToken({
  name: 'BlockComment',
  pattern: pattern((source, start) =>
    source.startsWith('/*', start) ? endOfBlockComment(source, start) : UNTERMINATED,
  ),
  start_chars_hint: ['/'],
  line_breaks: true,
  group: Lexer.SKIPPED,
});

function symbol(name: string, image: string, ...categories: TokenType[]): TokenType {
  return createToken({ name, label: image, pattern: image, categories });
}

/** `=`, `<` and the like: those that may stand before ANY and ALL. */
export const comparison = createToken({ name: 'Comparison', label: 'an operator', pattern: Lexer.NA });
/** Binary operators written with symbols; the comparisons too. */
export const binaryOperator = createToken({
  name: 'BinaryOperator',
  label: 'an operator',
  pattern: Lexer.NA,
});
/** Operators of PostgreSQL that this dialect does not have: read to be refused by name. */
export const unsupportedOperator = createToken({
  name: 'UnsupportedOperator',
  label: 'an operator',
  pattern: Lexer.NA,
});
/** The condition of a grant. The lexer does not know it: `joinConditions` makes it of what stands behind WHERE. */
export const conditionText = createToken({
  name: 'ConditionText',
  label: 'a condition',
  pattern: Lexer.NA,
});
/** A character that no token begins with. */
export const strange = createToken({
  name: 'Strange',
  label: 'a character',
  pattern: /[\u0000-\u007f]/,
  line_breaks: true,
});

/** `+` */
export const plus = symbol('Plus', '+', binaryOperator);
/** `-` */
export const minus = symbol('Minus', '-', binaryOperator);
/** `*` */
export const star = symbol('Star', '*', binaryOperator);
/** `::` */
export const doubleColon = symbol('DoubleColon', '::');
/** `(` */
export const leftParenthesis = symbol('LeftParenthesis', '(');
/** `)` */
export const rightParenthesis = symbol('RightParenthesis', ')');
/** `[` */
export const leftBracket = symbol('LeftBracket', '[');
/** `]` */
export const rightBracket = symbol('RightBracket', ']');
/** `=` */
export const equal = symbol('Equal', '=', comparison, binaryOperator);
/** `~`: an operator that this dialect does not have, and a sign in `HEAD~1`. */
export const tilde = symbol('Matches', '~', unsupportedOperator);
/** `{` */
export const leftBrace = symbol('LeftBrace', '{');
/** `}` */
export const rightBrace = symbol('RightBrace', '}');
/** `,` */
export const comma = symbol('Comma', ',');
/** `.` */
export const dot = symbol('Dot', '.');
/** `;` */
export const semicolon = symbol('Semicolon', ';');

/** Longest first, because the lexer takes the first that fits. */
const operators = [
  symbol('ArrowText', '->>', binaryOperator),
  symbol('Arrow', '->', binaryOperator),
  symbol('PathText', '#>>', binaryOperator),
  symbol('Path', '#>', binaryOperator),
  symbol('RemovePath', '#-', binaryOperator),
  symbol('Contains', '@>', binaryOperator),
  symbol('PathExists', '@?', binaryOperator),
  symbol('Match', '@@', binaryOperator),
  symbol('Distance', '<->', unsupportedOperator),
  symbol('CosineDistance', '<=>', unsupportedOperator),
  symbol('InnerProduct', '<#>', unsupportedOperator),
  symbol('ContainedBy', '<@', binaryOperator),
  symbol('LessOrEqual', '<=', comparison, binaryOperator),
  symbol('NotEqual', '<>', comparison, binaryOperator),
  symbol('NotEqualAlso', '!=', comparison, binaryOperator),
  symbol('GreaterOrEqual', '>=', comparison, binaryOperator),
  symbol('Less', '<', comparison, binaryOperator),
  symbol('Greater', '>', comparison, binaryOperator),
  equal,
  symbol('NotMatchesAnyCase', '!~*', unsupportedOperator),
  symbol('NotMatches', '!~', unsupportedOperator),
  symbol('MatchesAnyCase', '~*', unsupportedOperator),
  tilde,
  symbol('HasAnyKey', '?|', binaryOperator),
  symbol('HasAllKeys', '?&', binaryOperator),
  symbol('HasKey', '?', binaryOperator),
  symbol('Concatenate', '||', binaryOperator),
  symbol('Divide', '/', binaryOperator),
  symbol('Remainder', '%', binaryOperator),
];

function keyword(name: string, ...categories: TokenType[]): TokenType {
  // No pattern: the lexer knows words only, because a pattern for each keyword would be tried for each word.
  return createToken({ name, label: name, pattern: Lexer.NA, categories });
}

/** Words that are never a name, except behind AS and in quotation marks. */
const RESERVED = [
  'ALL',
  'AND',
  'ANY',
  'ARRAY',
  'AS',
  'ASC',
  'BETWEEN',
  'CASE',
  'CAST',
  'CROSS',
  'DESC',
  'DISTINCT',
  'ELSE',
  'END',
  'EXCEPT',
  'FALSE',
  'FETCH',
  'FOR',
  'FROM',
  'FULL',
  'GROUP',
  'HAVING',
  'ILIKE',
  'IN',
  'INNER',
  'INTERSECT',
  'IS',
  'JOIN',
  'LATERAL',
  'LEFT',
  'LIKE',
  'LIMIT',
  'NATURAL',
  'NOT',
  'NULL',
  'OFFSET',
  'ON',
  'OR',
  'ORDER',
  'OUTER',
  'RETURNING',
  'RIGHT',
  'SELECT',
  'SIMILAR',
  'SOME',
  'THEN',
  'TRUE',
  'UNION',
  'USING',
  'WHEN',
  'WHERE',
  'WINDOW',
  'WITH',
] as const;
/** Words that the grammar knows in some places, and that are names in all others. */
const UNRESERVED = [
  'ANALYZE',
  'BOTH',
  'BY',
  'CURRENT',
  'EXCLUDE',
  'EXISTS',
  'EXPLAIN',
  'EXTRACT',
  'FILTER',
  'FIRST',
  'FOLLOWING',
  'GROUPS',
  'INTERVAL',
  'LAST',
  'LEADING',
  'NEXT',
  'NULLS',
  'ONLY',
  'OVER',
  'PARTITION',
  'POSITION',
  'PRECEDING',
  'RANGE',
  'RECURSIVE',
  'ROW',
  'ROWS',
  'SUBSTRING',
  'TRAILING',
  'TRIM',
  'UNBOUNDED',
  'UNKNOWN',
  'VALUES',
  'VERBOSE',
  'WITHIN',
] as const;

/**
 * Words of statements other than queries. Each is known only where the grammar of its statement asks for it, so it is a name
 * without quotation marks too.
 */
const STATEMENT_WORDS = [
  'ABOVE',
  'ACTOR',
  'ADD',
  'ALLOW',
  'ALLOWED_CHILDREN',
  'ALLOW_ADDITIONAL_PROPERTIES',
  'ALTER',
  'ANONYMOUS',
  'ARCHETYPE',
  'AT',
  'AUDITABLE',
  'BASE_NODE_TYPE',
  'BEGIN',
  'BELOW',
  'BIRTH',
  'BRANCH',
  'BRANCHES',
  'CAN',
  'CASCADE',
  'CHECKOUT',
  'COMMIT',
  'COMPOUND_INDEX',
  'CONFIG',
  'CONFLICTS',
  'COPY',
  'CREATE',
  'DATE',
  'DEFAULT',
  'DELETE',
  'DESCRIBE',
  'DESCRIPTION',
  'DISPLAY',
  'DIVERGENCE',
  'DROP',
  'EFFECTIVE',
  'ELEMENTTYPE',
  'EMAIL',
  'ENABLED',
  'EXTENDS',
  'FAST_FORWARD',
  'FIELD',
  'FIELDS',
  'FOLDER',
  'FULLTEXT',
  'GRANT',
  'HISTORY',
  'ICON',
  'IF',
  'INDEXABLE',
  'INHERITS',
  'INSERT',
  'INTERFACE',
  'INTO',
  'KEEP_OURS',
  'KEEP_THEIRS',
  'LABEL',
  'LOCAL',
  'LOCALE',
  'LOGIN',
  'MERGE',
  'MESSAGE',
  'MIXIN',
  'MIXINS',
  'MODIFY',
  'MOVE',
  'NAME',
  'NODE',
  'NODETYPE',
  'OF',
  'PATH',
  'PERMISSION',
  'PERMISSIONS',
  'POLICY',
  'PROPERTIES',
  'PROPERTY',
  'PROPERTY_INDEX',
  'PROTECTED',
  'PUBLISHABLE',
  'READ',
  'RELATE',
  'RENAME',
  'REQUIRED',
  'REQUIRED_NODES',
  'RESOLVE',
  'RESTORE',
  'REVISION',
  'REVOKE',
  'ROLE',
  'ROLES',
  'ROLLBACK',
  'SECURITY',
  'SESSION',
  'SET',
  'SHOW',
  'START',
  'STRICT',
  'THREE_WAY',
  'TITLE',
  'TO',
  'TRANSACTION',
  'TRANSLATABLE',
  'TRANSLATE',
  'TRANSLATIONS',
  'TREE',
  'TYPE',
  'TYPES',
  'UNIQUE',
  'UNRELATE',
  'UNSET',
  'UPDATE',
  'UPSERT',
  'UPSTREAM',
  'USE',
  'USER',
  'USERS',
  'USE_VALUE',
  'VECTOR',
  'VERSIONABLE',
  'WEIGHT',
  'WORK',
  'WORKSPACE',
] as const;

type Keyword = (typeof RESERVED)[number] | (typeof UNRESERVED)[number] | (typeof STATEMENT_WORDS)[number];

/** The token types of the keywords, by their names in upper case. */
export const keywords = Object.fromEntries([
  ...RESERVED.map((name) => [name, keyword(name, anyLabel)]),
  ...[...UNRESERVED, ...STATEMENT_WORDS].map((name) => [name, keyword(name, identifier, anyLabel)]),
]) as Readonly<Record<Keyword, TokenType>>;

const keywordsByName = new Map<string, TokenType>(Object.entries(keywords));
const KEYWORD_LENGTH_MAX = Math.max(...[...keywordsByName.keys()].map((name) => name.length));

/** The keyword that a word is, in whatever case. */
export function keywordOf(image: string): TokenType | undefined {
  return image.length > KEYWORD_LENGTH_MAX ? undefined : keywordsByName.get(image.toUpperCase());
}

/** Functions that are called without parentheses. */
const bareCalls: ReadonlySet<string> = new Set([
  'CURRENT_CATALOG',
  'CURRENT_DATE',
  'CURRENT_SCHEMA',
  'CURRENT_TIME',
  'CURRENT_TIMESTAMP',
  'CURRENT_USER',
  'LOCALTIME',
  'LOCALTIMESTAMP',
  'SESSION_USER',
]);

/** Whether a word, in whatever case, is a call of a function without parentheses. */
export function isBareCall(image: string): boolean {
  return bareCalls.has(image.toUpperCase());
}

const statementWords: ReadonlySet<TokenType> = new Set(STATEMENT_WORDS.map((name) => keywords[name]));

/** Whether a name must be written in quotation marks to be read as that name. */
export function needsQuotes(name: string): boolean {
  const isWord = /^[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*$/.test(name);
  if (!isWord || isBareCall(name)) return true;
  const keyword = keywordOf(name);
  return keyword !== undefined && !statementWords.has(keyword);
}

/** The tokens that the lexer tells apart, in the order in which it tries them. */
export const lexed: TokenType[] = [
  whiteSpace,
  word,
  lineComment,
  blockComment,
  text,
  quotedName,
  parameter,
  dollarText,
  pathStart,
  revisionNumber,
  number,
  ...operators,
  plus,
  minus,
  star,
  doubleColon,
  leftParenthesis,
  rightParenthesis,
  leftBracket,
  rightBracket,
  leftBrace,
  rightBrace,
  comma,
  dot,
  semicolon,
  strange,
];

/** All token types, for the parser. */
export const vocabulary: TokenType[] = [
  ...lexed,
  identifier,
  anyLabel,
  comparison,
  binaryOperator,
  unsupportedOperator,
  conditionText,
  ...Object.values(keywords),
];
