import type { IToken } from 'chevrotain';
import { nameOf, spanOf, textOf } from './grammar-base.ts';
import { BIGINT_MIN, isBigintLimit } from './literal-number.ts';
import type { GivenText, GivenValue, WorkspaceName } from './nodes/given-nodes.ts';
import type { LiteralNode } from './nodes/syntax-nodes.ts';
import { QueryGrammar } from './query-grammar.ts';
import {
  anyLabel,
  comma,
  dollarText,
  dot,
  identifier,
  keywords,
  leftParenthesis,
  minus,
  number,
  parameter,
  plus,
  quotedName,
  rightParenthesis,
  text,
} from './tokens.ts';

/** What stands in a name of a branch or of a type, but not in a bare word. */
const signsOfNames: ReadonlySet<string> = new Set(['-', '/', ':', '::', '.']);

/** The rules for what statements give as plain values: texts, names, numbers, lists of texts, and workspaces. */
export abstract class GivenGrammar extends QueryGrammar {
  /** A string, quoted in any way, or a parameter. */
  protected readonly givenText = this.RULE('givenText', (): GivenText => {
    const token = this.OR([
      { ALT: () => this.CONSUME(text) },
      { ALT: () => this.CONSUME(dollarText) },
      { ALT: () => this.CONSUME(quotedName) },
      { ALT: () => this.CONSUME(parameter) },
    ]);
    return this.ACTION(() => givenOf(token));
  });

  /** As `givenText`, or a bare word. */
  protected readonly givenName = this.RULE('givenName', (): GivenText => {
    const token = this.OR([
      { ALT: () => this.CONSUME(text) },
      { ALT: () => this.CONSUME(dollarText) },
      { ALT: () => this.CONSUME(parameter) },
      { ALT: () => this.CONSUME(identifier) },
    ]);
    return this.ACTION(() => {
      this.refuseHalfName(token);
      return givenOf(token);
    });
  });

  /** `release-1` is a name only in quotation marks. */
  private refuseHalfName(token: IToken): void {
    const next = this.LA(1);
    const isBare = ![text, dollarText, parameter, quotedName].includes(token.tokenType);
    const isTorn = isBare && signsOfNames.has(next.image) && next.startOffset === this.lastEnd;
    if (!isTorn) return;
    throw this.failAt(`Syntax error: a name with "${next.image}" must be quoted`, spanOf(token));
  }

  /** A string, number, truth value or NULL, or a parameter. */
  protected readonly givenValue = this.RULE(
    'givenValue',
    (): GivenValue =>
      this.choose<GivenValue>([
        { ALT: () => this.SUBRULE(this.givenText) },
        { ALT: () => this.SUBRULE(this.givenNumber) },
        {
          ALT: () => {
            const token = this.OR2([
              { ALT: () => this.CONSUME(keywords.TRUE) },
              { ALT: () => this.CONSUME(keywords.FALSE) },
              { ALT: () => this.CONSUME(keywords.NULL) },
            ]);
            return this.ACTION(() => constantOf(token));
          },
        },
      ]),
  );

  /** A number with its sign. */
  protected readonly givenNumber = this.RULE('givenNumber', (): LiteralNode => {
    const start = this.ACTION(() => this.nextStart);
    const sign = this.OPTION(() =>
      this.OR([{ ALT: () => this.CONSUME(minus) }, { ALT: () => this.CONSUME(plus) }]),
    );
    const token = this.CONSUME(number);
    return this.ACTION((): LiteralNode => {
      const span = this.spanFrom(start);
      const isNegative = sign?.tokenType === minus;
      if (isNegative && isBigintLimit(token.image)) {
        return { kind: 'literal', type: 'bigint', value: BIGINT_MIN, span };
      }
      const { type, value } = this.numberOf(token);
      const isZero = Number(value) === 0;
      const signed = !isNegative || isZero ? value : typeof value === 'bigint' ? -value : -Number(value);
      return { kind: 'literal', type, value: signed, span };
    });
  });

  /** The name of a workspace, quoted in any way, or bare. */
  protected readonly workspaceName = this.RULE('workspaceName', (): WorkspaceName => {
    const token = this.OR([{ ALT: () => this.CONSUME(identifier) }, { ALT: () => this.CONSUME(text) }]);
    return this.ACTION(() => ({
      name: token.tokenType === text ? textOf(token) : nameOf(token),
      isBare: token.image[0] !== '"' && token.image[0] !== "'",
      span: spanOf(token),
    }));
  });

  /** `('a', 'b')`; not empty. */
  protected readonly textList = this.RULE('textList', (): GivenText[] => {
    const list: GivenText[] = [];
    this.CONSUME(leftParenthesis);
    this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => list.push(this.SUBRULE(this.givenText)) });
    this.CONSUME(rightParenthesis);
    return list;
  });

  /** `a.b`: words, reserved ones too. */
  protected readonly dottedName = this.RULE('dottedName', (): string[] => {
    const names: string[] = [];
    this.AT_LEAST_ONE_SEP({
      SEP: dot,
      DEF: () => {
        const name = this.CONSUME(anyLabel);
        this.ACTION(() => names.push(nameOf(name)));
      },
    });
    return names;
  });

  /** TRUE or FALSE. */
  protected readonly flag = this.RULE('flag', (): boolean => {
    const token = this.OR([
      { ALT: () => this.CONSUME(keywords.TRUE) },
      { ALT: () => this.CONSUME(keywords.FALSE) },
    ]);
    return token.tokenType === keywords.TRUE;
  });

  /** `IF EXISTS`, whether it stands there. */
  protected readonly ifExists = this.RULE('ifExists', (): boolean => {
    const word = this.OPTION({
      GATE: () => this.isAhead(2, keywords.EXISTS),
      DEF: () => {
        this.CONSUME(keywords.IF);
        return this.CONSUME(keywords.EXISTS);
      },
    });
    return word !== undefined;
  });
}

function givenOf(token: IToken): GivenText {
  const span = spanOf(token);
  if (token.tokenType === parameter) return { kind: 'parameter', index: Number(token.image.slice(1)), span };
  const isText = token.tokenType === text || token.tokenType === dollarText;
  return { kind: 'literal', type: 'text', value: isText ? textOf(token) : nameOf(token), span };
}

function constantOf(token: IToken): LiteralNode {
  const span = spanOf(token);
  if (token.tokenType === keywords.NULL) return { kind: 'literal', type: 'null', value: null, span };
  return { kind: 'literal', type: 'boolean', value: token.tokenType === keywords.TRUE, span };
}
