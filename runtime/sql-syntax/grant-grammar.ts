import type { IToken } from 'chevrotain';
import { nameOf, spanOf, textOf } from './grammar-base.ts';
import type { GrantNode } from './nodes/access-nodes.ts';
import type { GivenText } from './nodes/given-nodes.ts';
import { SchemaGrammar } from './schema-grammar.ts';
import {
  anyLabel,
  comma,
  conditionText,
  keywords,
  leftParenthesis,
  rightParenthesis,
  text,
} from './tokens.ts';

/** The clauses of a grant, while they are read. */
type Clauses = {
  -readonly [Key in keyof Omit<GrantNode, 'operations' | 'span'>]?: GrantNode[Key] | undefined;
};

/** The rules for what a role allows. */
export abstract class GrantGrammar extends SchemaGrammar {
  /** `ALLOW op, … PATH 'glob' …`. */
  protected readonly permission = this.RULE('permission', (): GrantNode => {
    const { startOffset } = this.CONSUME(keywords.ALLOW);
    const operations: string[] = [];
    this.AT_LEAST_ONE_SEP({
      SEP: comma,
      DEF: () => {
        const operation = this.SUBRULE(this.grantedOperation);
        this.ACTION(() => operations.push(operation.image.toLowerCase()));
      },
    });
    const clauses: Clauses = {};
    const written = this.ACTION(() => new Set<string>());
    this.MANY(() => this.SUBRULE(this.grantClause, { ARGS: [clauses, written] }));
    return this.ACTION(() => {
      const { path } = clauses;
      if (path === undefined) {
        throw this.failAt('Syntax error: a permission needs PATH', { start: startOffset });
      }
      return {
        operations,
        workspace: clauses.workspace,
        path,
        branch: clauses.branch,
        nodeTypes: clauses.nodeTypes,
        fields: clauses.fields,
        exceptFields: clauses.exceptFields,
        condition: clauses.condition,
        span: this.spanFrom(startOffset),
      };
    });
  });

  private readonly grantedOperation = this.RULE(
    'grantedOperation',
    (): IToken =>
      this.OR([
        { ALT: () => this.CONSUME(keywords.CREATE) },
        { ALT: () => this.CONSUME(keywords.READ) },
        { ALT: () => this.CONSUME(keywords.UPDATE) },
        { ALT: () => this.CONSUME(keywords.DELETE) },
        { ALT: () => this.CONSUME(keywords.TRANSLATE) },
        { ALT: () => this.CONSUME(keywords.RELATE) },
        { ALT: () => this.CONSUME(keywords.UNRELATE) },
      ]),
  );

  private readonly grantClause = this.RULE('grantClause', (clauses: Clauses, written: Set<string>): void => {
    // Rules are recorded without arguments.
    const into = clauses ?? {};
    this.ACTION(() => {
      const word = this.LA(1);
      const name = clauseNames[word.image.toUpperCase()] ?? word.image.toUpperCase();
      if (written.has(name)) throw this.clauseTwice(name, word.startOffset);
      written.add(name);
    });
    this.OR([
      {
        ALT: () => {
          this.CONSUME(keywords.ON);
          into.workspace = this.SUBRULE(this.givenName);
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.PATH);
          into.path = this.SUBRULE(this.givenText);
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.BRANCH);
          into.branch = this.SUBRULE2(this.givenText);
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.NODE);
          this.CONSUME(keywords.TYPES);
          into.nodeTypes = this.SUBRULE(this.textList);
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.FIELDS);
          into.fields = this.SUBRULE(this.fieldNames);
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.EXCEPT);
          this.CONSUME2(keywords.FIELDS);
          into.exceptFields = this.SUBRULE2(this.fieldNames);
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.WHERE);
          const condition = this.CONSUME(conditionText);
          this.ACTION(() => {
            into.condition = String(condition.payload);
          });
        },
      },
    ]);
  });

  /** `('a', b)`. */
  private readonly fieldNames = this.RULE('fieldNames', (): GivenText[] => {
    const names: GivenText[] = [];
    this.CONSUME(leftParenthesis);
    this.AT_LEAST_ONE_SEP({
      SEP: comma,
      DEF: () => {
        const name = this.OR([{ ALT: () => this.CONSUME(text) }, { ALT: () => this.CONSUME(anyLabel) }]);
        this.ACTION(() =>
          names.push({
            kind: 'literal',
            type: 'text',
            value: name.tokenType === text ? textOf(name) : nameOf(name),
            span: spanOf(name),
          }),
        );
      },
    });
    this.CONSUME(rightParenthesis);
    return names;
  });

  /** A word or a name in quotation marks, as a text. */
  protected readonly bareOrQuoted = this.RULE('bareOrQuoted', (): string => {
    const name = this.OR([{ ALT: () => this.CONSUME(text) }, { ALT: () => this.CONSUME(anyLabel) }]);
    return this.ACTION(() => (name.tokenType === text ? textOf(name) : nameOf(name)));
  });
}

/** The names of clauses of two words. */
const clauseNames: Readonly<Record<string, string>> = { NODE: 'NODE TYPES', EXCEPT: 'EXCEPT FIELDS' };
