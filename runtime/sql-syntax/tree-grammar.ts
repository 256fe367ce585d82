import type { IToken, TokenType } from 'chevrotain';
import { DataGrammar } from './data-grammar.ts';
import { nameOf, spanOf, textOf } from './grammar-base.ts';
import type { UpdateStatement } from './nodes/data-nodes.ts';
import type { GivenText, GivenValue, WorkspaceName } from './nodes/given-nodes.ts';
import type {
  CopyStatement,
  MoveStatement,
  NodeReference,
  OrderStatement,
  PlacedReference,
  RelateStatement,
  RestoredRevision,
  RestoreStatement,
  TranslatedStep,
  TranslatedValue,
  TranslateStatement,
  UnrelateStatement,
} from './nodes/tree-nodes.ts';
import {
  anyLabel,
  comma,
  dollarText,
  dot,
  equal,
  identifier,
  keywords,
  leftBracket,
  number,
  parameter,
  quotedName,
  revisionNumber,
  rightBracket,
  text,
  tilde,
} from './tokens.ts';

/** Most steps that a relative revision may go back. */
const DISTANCE_DIGITS_MAX = 9;
/** What a TRANSLATE may say about its nodes. */
const TRANSLATE_CONDITION =
  'TRANSLATE: the WHERE clause must be path = …, id = … or node_type = …, or path or id AND node_type';

interface TwoReferences {
  readonly source: PlacedReference;
  readonly target: PlacedReference;
}

/** What WHERE says in a TRANSLATE. */
type TranslateTarget = Pick<TranslateStatement, 'node' | 'nodeType'>;

/** The rules for statements about the tree: MOVE, COPY, ORDER, RELATE, UNRELATE, RESTORE, UPDATE … FOR LOCALE. */
export abstract class TreeGrammar extends DataGrammar {
  protected readonly move = this.RULE('move', (): MoveStatement => {
    const { startOffset } = this.CONSUME(keywords.MOVE);
    const workspace = this.SUBRULE(this.workspaceName);
    const branch = this.SUBRULE(this.inBranch);
    this.CONSUME(keywords.SET);
    const source = this.SUBRULE(this.nodeReference);
    this.CONSUME(keywords.TO);
    const target = this.SUBRULE2(this.nodeReference);
    return this.ACTION(() => ({
      kind: 'move',
      workspace,
      branch,
      source,
      target,
      span: this.spanFrom(startOffset),
    }));
  });

  protected readonly copy = this.RULE('copy', (): CopyStatement => {
    const { startOffset } = this.CONSUME(keywords.COPY);
    const tree = this.OPTION({
      // A workspace may be called tree, and one may be called set.
      GATE: () => !this.isAhead(2, keywords.IN) && !(this.isAhead(2, keywords.SET) && this.isAhead(4, equal)),
      DEF: () => this.CONSUME(keywords.TREE),
    });
    const workspace = this.SUBRULE(this.workspaceName);
    const branch = this.SUBRULE(this.inBranch);
    this.CONSUME(keywords.SET);
    const source = this.SUBRULE(this.nodeReference);
    this.CONSUME(keywords.TO);
    const target = this.SUBRULE2(this.nodeReference);
    const newName = this.OPTION2(() => {
      this.CONSUME(keywords.AS);
      return this.SUBRULE(this.givenText);
    });
    return this.ACTION(() => ({
      kind: 'copy',
      isTree: tree !== undefined,
      workspace,
      branch,
      source,
      target,
      newName,
      span: this.spanFrom(startOffset),
    }));
  });

  protected readonly order = this.RULE('order', (): OrderStatement => {
    const { startOffset } = this.CONSUME(keywords.ORDER);
    const workspace = this.SUBRULE(this.workspaceName);
    const branch = this.SUBRULE(this.inBranch);
    this.CONSUME(keywords.SET);
    const source = this.SUBRULE(this.nodeReference);
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.ABOVE) },
      { ALT: () => this.CONSUME(keywords.BELOW) },
    ]);
    const target = this.SUBRULE2(this.nodeReference);
    return this.ACTION(() => ({
      kind: 'order',
      workspace,
      branch,
      source,
      position: word.tokenType === keywords.ABOVE ? 'above' : 'below',
      target,
      span: this.spanFrom(startOffset),
    }));
  });

  /** `IN BRANCH 'b'`, if it stands there. */
  private readonly inBranch = this.RULE('inBranch', (): GivenText | undefined =>
    this.OPTION(() => {
      this.CONSUME(keywords.IN);
      this.CONSUME(keywords.BRANCH);
      return this.SUBRULE(this.givenName);
    }),
  );

  /** `path='/p'` or `id='x'`. */
  private readonly nodeReference = this.RULE('nodeReference', (): NodeReference => {
    const word = this.CONSUME(identifier);
    const by = this.ACTION(() => this.columnOfReference(word));
    this.CONSUME(equal);
    const value = this.SUBRULE(this.givenText);
    return this.ACTION(() => ({ by, value, span: this.spanFrom(word.startOffset) }));
  });

  private columnOfReference(token: IToken): NodeReference['by'] {
    const column = nameOf(token).toLowerCase();
    if (column === 'path' || column === 'id') return column;
    throw this.failAt(`Syntax error: expected path or id, found "${shorten(token.image)}"`, spanOf(token));
  }

  protected readonly relate = this.RULE('relate', (): RelateStatement => {
    const { startOffset } = this.CONSUME(keywords.RELATE);
    const branch = this.SUBRULE(this.inStrictBranch);
    const ends = this.SUBRULE(this.relationEnds);
    const type = this.SUBRULE(this.relationType);
    const weight = this.OPTION(() => {
      this.CONSUME(keywords.WEIGHT);
      return this.SUBRULE(this.relationWeight);
    });
    return this.ACTION(() => ({
      kind: 'relate',
      branch,
      ...ends,
      type,
      weight,
      span: this.spanFrom(startOffset),
    }));
  });

  protected readonly unrelate = this.RULE('unrelate', (): UnrelateStatement => {
    const { startOffset } = this.CONSUME(keywords.UNRELATE);
    const branch = this.SUBRULE(this.inStrictBranch);
    const ends = this.SUBRULE(this.relationEnds);
    const type = this.SUBRULE(this.relationType);
    return this.ACTION(() => ({ kind: 'unrelate', branch, ...ends, type, span: this.spanFrom(startOffset) }));
  });

  private readonly inStrictBranch = this.RULE('inStrictBranch', (): GivenText | undefined =>
    this.OPTION(() => {
      this.CONSUME(keywords.IN);
      this.CONSUME(keywords.BRANCH);
      return this.SUBRULE(this.strictText);
    }),
  );

  private readonly relationType = this.RULE('relationType', (): GivenText | undefined =>
    this.OPTION(() => {
      this.CONSUME(keywords.TYPE);
      return this.SUBRULE(this.strictText);
    }),
  );

  private readonly relationWeight = this.RULE(
    'relationWeight',
    (): GivenValue =>
      this.choose<GivenValue>([
        { ALT: () => this.SUBRULE(this.givenNumber) },
        {
          ALT: () => {
            const token = this.CONSUME(parameter);
            return this.ACTION(() => givenParameter(token));
          },
        },
      ]),
  );

  /** `FROM ref [IN WORKSPACE 'w'] TO ref [IN WORKSPACE 'w']`. */
  private readonly relationEnds = this.RULE('relationEnds', (): TwoReferences => {
    this.CONSUME(keywords.FROM);
    const source = this.SUBRULE(this.relationEnd);
    this.CONSUME(keywords.TO);
    const target = this.SUBRULE2(this.relationEnd);
    return { source, target };
  });

  private readonly relationEnd = this.RULE('relationEnd', (): PlacedReference => {
    const word = this.CONSUME(identifier);
    const by = this.ACTION(() => this.columnOfReference(word));
    this.CONSUME(equal);
    const value = this.SUBRULE(this.strictText);
    const node = this.ACTION((): NodeReference => ({ by, value, span: this.spanFrom(word.startOffset) }));
    const workspace = this.OPTION(() => {
      this.CONSUME(keywords.IN);
      this.CONSUME(keywords.WORKSPACE);
      return this.SUBRULE2(this.strictText);
    });
    return { node, workspace };
  });

  /** RELATE knows non-empty strings in single quotes only, and parameters. */
  private readonly strictText = this.RULE('strictText', (): GivenText => {
    this.ACTION(() => {
      const token = this.LA(1);
      const isEmpty = token.tokenType === text && token.image === "''";
      if (!isEmpty && token.tokenType !== quotedName && token.tokenType !== dollarText) return;
      throw this.failAt(
        `Syntax error: expected a non-empty string in single quotes, found ${shorten(token.image)}`,
        {
          start: token.startOffset,
        },
      );
    });
    return this.choose<GivenText>([
      {
        ALT: () => {
          const token = this.CONSUME(text);
          return this.ACTION(() => ({
            kind: 'literal',
            type: 'text',
            value: textOf(token),
            span: spanOf(token),
          }));
        },
      },
      {
        ALT: () => {
          const token = this.CONSUME(parameter);
          return this.ACTION(() => givenParameter(token));
        },
      },
    ]);
  });

  protected readonly restore = this.RULE('restore', (): RestoreStatement => {
    const { startOffset } = this.CONSUME(keywords.RESTORE);
    const tree = this.OPTION(() => this.CONSUME(keywords.TREE));
    this.CONSUME(keywords.NODE);
    const node = this.SUBRULE(this.nodeReference);
    let workspace: GivenText | undefined;
    let branch: GivenText | undefined;
    this.MANY(() => {
      const { startOffset: clause } = this.CONSUME(keywords.IN);
      this.OR([
        {
          ALT: () => {
            this.CONSUME(keywords.WORKSPACE);
            const given = this.SUBRULE(this.givenName);
            this.ACTION(() => {
              if (workspace !== undefined) throw this.clauseTwice('IN WORKSPACE', clause);
              workspace = given;
            });
          },
        },
        {
          ALT: () => {
            this.CONSUME(keywords.BRANCH);
            const given = this.SUBRULE2(this.givenName);
            this.ACTION(() => {
              if (branch !== undefined) throw this.clauseTwice('IN BRANCH', clause);
              branch = given;
            });
          },
        },
      ]);
    });
    this.CONSUME(keywords.TO);
    this.CONSUME(keywords.REVISION);
    const revision = this.SUBRULE(this.restoredRevision);
    const translations = this.OPTION2(() => {
      this.CONSUME(keywords.TRANSLATIONS);
      return this.SUBRULE(this.textList);
    });
    return this.ACTION(() => ({
      kind: 'restore',
      isTree: tree !== undefined,
      node: { node, workspace },
      branch,
      revision,
      translations,
      span: this.spanFrom(startOffset),
    }));
  });

  /** The error for a clause that may stand once. */
  protected clauseTwice(clause: string, start: number): Error {
    return this.failAt(`Syntax error: ${clause} is written twice`, { start });
  }

  /** `HEAD~2`, `branch~2`, `'<ms>-<counter>'`, `<ms>_<counter>`, or a parameter. */
  protected readonly restoredRevision = this.RULE(
    'restoredRevision',
    (): RestoredRevision =>
      this.choose<RestoredRevision>([
        {
          ALT: () => {
            const token = this.CONSUME(revisionNumber);
            return this.ACTION(() => revisionOf(token, token.image.replace('_', '-')));
          },
        },
        {
          ALT: () => {
            const token = this.CONSUME(parameter);
            return this.ACTION(() => ({ kind: 'revision', revision: givenParameter(token) }));
          },
        },
        {
          GATE: () => !this.isAhead(2, tilde),
          ALT: () => {
            const token = this.CONSUME(text);
            return this.ACTION(() => revisionOf(token, textOf(token)));
          },
        },
        { ALT: () => this.SUBRULE(this.relativeRevision), IGNORE_AMBIGUITIES: true },
      ]),
  );

  private readonly relativeRevision = this.RULE('relativeRevision', (): RestoredRevision => {
    const base = this.OR([{ ALT: () => this.CONSUME2(text) }, { ALT: () => this.CONSUME(identifier) }]);
    let distance = 0;
    this.OPTION(() => {
      this.CONSUME(tilde);
      const count = this.CONSUME(number);
      this.ACTION(() => {
        const isCount = /^\d+$/.test(count.image) && count.image.length <= DISTANCE_DIGITS_MAX;
        if (!isCount) {
          throw this.failAt(
            `Syntax error: expected a number of revisions, found "${shorten(count.image)}"`,
            spanOf(count),
          );
        }
        distance = Number(count.image);
      });
    });
    return this.ACTION(() => {
      const isHead = base.tokenType !== text && base.image.toUpperCase() === 'HEAD';
      const branch = isHead ? undefined : base.tokenType === text ? textOf(base) : nameOf(base);
      return { kind: 'relative', branch, distance };
    });
  });

  /** An UPDATE of rows or, with FOR LOCALE, of translations. */
  protected readonly update = this.RULE('update', (): UpdateStatement | TranslateStatement => {
    const { startOffset } = this.CONSUME(keywords.UPDATE);
    const table = this.SUBRULE(this.workspaceName);
    this.ACTION(() => this.refuseJoin());
    return this.choose<UpdateStatement | TranslateStatement>([
      { ALT: () => this.SUBRULE(this.updateTail, { ARGS: [startOffset, table] }) },
      { ALT: () => this.SUBRULE(this.translateTail, { ARGS: [startOffset, table] }) },
    ]);
  });

  private readonly translateTail = this.RULE(
    'translateTail',
    (start: number, workspace: WorkspaceName): TranslateStatement => {
      this.CONSUME(keywords.FOR);
      this.CONSUME(keywords.LOCALE);
      const locale = this.SUBRULE(this.givenText);
      const branch = this.SUBRULE(this.inBranch);
      this.CONSUME(keywords.SET);
      const values: TranslatedValue[] = [];
      this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => values.push(this.SUBRULE(this.translatedValue)) });
      const target = this.OPTION(() => {
        this.CONSUME(keywords.WHERE);
        return this.SUBRULE(this.translateTarget);
      });
      return this.ACTION(() => ({
        kind: 'translate',
        workspace,
        locale,
        branch,
        values,
        node: target?.node,
        nodeType: target?.nodeType,
        span: this.spanFrom(start),
      }));
    },
  );

  private readonly translatedValue = this.RULE('translatedValue', (): TranslatedValue => {
    const start = this.ACTION(() => this.nextStart);
    const path: TranslatedStep[] = [];
    this.SUBRULE(this.translatedKey, { ARGS: [path] });
    this.MANY(() => {
      this.CONSUME(dot);
      this.SUBRULE2(this.translatedKey, { ARGS: [path] });
    });
    this.CONSUME(equal);
    const value = this.SUBRULE(this.givenValue);
    return this.ACTION(() => ({ path, value, span: this.spanFrom(start) }));
  });

  /** `a` or `a[uuid='u']`. */
  private readonly translatedKey = this.RULE('translatedKey', (path: TranslatedStep[]): void => {
    const key = this.CONSUME(anyLabel);
    this.ACTION(() => path.push({ kind: 'key', key: nameOf(key) }));
    this.OPTION(() => {
      this.CONSUME(leftBracket);
      const word = this.CONSUME(identifier);
      this.ACTION(() => {
        if (word.image.toLowerCase() === 'uuid') return;
        throw this.failAt(`Syntax error: expected uuid, found "${shorten(word.image)}"`, spanOf(word));
      });
      this.CONSUME(equal);
      const uuid = this.OR([{ ALT: () => this.CONSUME(text) }, { ALT: () => this.CONSUME(quotedName) }]);
      this.CONSUME(rightBracket);
      this.ACTION(() =>
        path.push({ kind: 'element', uuid: uuid.tokenType === text ? textOf(uuid) : nameOf(uuid) }),
      );
    });
  });

  private readonly translateTarget = this.RULE('translateTarget', (): TranslateTarget => {
    const found: { -readonly [Key in keyof TranslateTarget]: TranslateTarget[Key] } = {
      node: undefined,
      nodeType: undefined,
    };
    this.AT_LEAST_ONE_SEP({
      SEP: keywords.AND,
      DEF: () => {
        const word = this.CONSUME(identifier);
        const column = this.ACTION(() => nameOf(word).toLowerCase());
        this.ACTION(() => {
          const isNode = column === 'path' || column === 'id';
          const isFree = isNode ? found.node : column === 'node_type' ? found.nodeType : found;
          if (isFree !== undefined || !this.isAhead(1, equal)) {
            throw this.failAt(TRANSLATE_CONDITION, spanOf(word));
          }
        });
        this.CONSUME(equal);
        const value = this.SUBRULE(this.givenText);
        this.ACTION(() => {
          if (column === 'node_type') found.nodeType = value;
          else
            found.node = { by: column as NodeReference['by'], value, span: this.spanFrom(word.startOffset) };
        });
      },
    });
    this.ACTION(() => {
      const next: TokenType = this.LA(1).tokenType;
      if (next === keywords.OR) throw this.failAt(TRANSLATE_CONDITION, { start: this.nextStart });
    });
    return this.ACTION(() => ({ ...found }));
  });
}

function revisionOf(token: IToken, revision: string): RestoredRevision {
  return {
    kind: 'revision',
    revision: { kind: 'literal', type: 'text', value: revision, span: spanOf(token) },
  };
}

function givenParameter(token: IToken): GivenText {
  return { kind: 'parameter', index: Number(token.image.slice(1)), span: spanOf(token) };
}

/** A part of a token for a message. */
function shorten(image: string): string {
  return image.length > 40 ? `${image.slice(0, 40).toWellFormed()}…` : image;
}
