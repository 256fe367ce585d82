import type { IToken } from 'chevrotain';
import { conditionText, word } from './tokens.ts';

const opening: ReadonlySet<string> = new Set(['(', '[', '{']);
const closing: ReadonlySet<string> = new Set([')', ']', '}']);
/** What stands before a field that is called where. */
const beforeField: ReadonlySet<string> = new Set(['(', ',']);

function isWord(token: IToken | undefined, ...names: readonly string[]): boolean {
  return token?.tokenType === word && names.includes(token.image.toUpperCase());
}

/** Whether a statement may have grants. */
function grants(tokens: readonly IToken[]): boolean {
  return isWord(tokens[0], 'CREATE', 'ALTER') && isWord(tokens[1], 'ROLE');
}

/**
 * Makes one token of the condition of each grant, because it is written in another language with other signs. It begins
 * behind WHERE and ends before the comma or parenthesis that ends the grant, or with the statement. Strings and brackets are
 * those of the lexer, so a comma within them belongs to the condition.
 *
 * @param tokens of one statement, as the lexer gives them
 * @param source the text that their offsets refer to
 */
export function joinConditions(tokens: readonly IToken[], source: string): readonly IToken[] {
  if (!grants(tokens)) return tokens;
  const joined: IToken[] = [];
  let at = 0;
  while (at < tokens.length) {
    const token = tokens[at]!;
    joined.push(token);
    at += 1;
    if (!isWord(token, 'WHERE') || beforeField.has(joined.at(-2)?.image ?? '')) continue;
    const end = endOfCondition(tokens, at);
    if (end > at) joined.push(conditionToken(tokens.slice(at, end), source));
    at = end;
  }
  return joined;
}

/** The index behind the last token of a condition. */
function endOfCondition(tokens: readonly IToken[], start: number): number {
  let depth = 0;
  for (let at = start; at < tokens.length; at += 1) {
    const { image } = tokens[at]!;
    if (depth === 0 && (image === ',' || closing.has(image))) return at;
    if (opening.has(image)) depth += 1;
    else if (closing.has(image)) depth -= 1;
  }
  return tokens.length;
}

function conditionToken(tokens: readonly IToken[], source: string): IToken {
  const { startOffset } = tokens[0]!;
  let end = startOffset;
  let payload = '';
  for (const token of tokens) {
    const gap = source.slice(end, token.startOffset);
    // A comment of SQL is no part of the condition.
    payload += (gap.trim() === '' ? gap : ' ') + token.image;
    end = token.startOffset + token.image.length;
  }
  return {
    image: source.slice(startOffset, end),
    payload,
    startOffset,
    tokenType: conditionText,
    ...(conditionText.tokenTypeIdx === undefined ? {} : { tokenTypeIdx: conditionText.tokenTypeIdx }),
  } as IToken;
}
