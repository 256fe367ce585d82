import type { IToken } from 'chevrotain';
import { nameOf, spanOf, textOf } from './grammar-base.ts';
import type { GivenText } from './nodes/given-nodes.ts';
import type {
  AlterDefinitionStatement,
  CreateDefinitionStatement,
  DefinitionAction,
  DefinitionClause,
  DefinitionFlag,
  DefinitionTarget,
  DropDefinitionStatement,
} from './nodes/schema-nodes.ts';
import { PropertyGrammar } from './property-grammar.ts';
import { hasPart } from './schema-parts.ts';
import { anyLabel, comma, equal, keywords, leftParenthesis, rightParenthesis, text } from './tokens.ts';

type CompoundIndexClause = Extract<DefinitionClause, { kind: 'compound-index' }>;

/** The rules for statements about the schema. Those of statements begin behind CREATE, ALTER and DROP. */
export abstract class SchemaGrammar extends PropertyGrammar {
  protected readonly createDefinition = this.RULE(
    'createDefinition',
    (start: number): CreateDefinitionStatement => {
      const target = this.SUBRULE(this.definitionTarget);
      const name = this.SUBRULE(this.givenText);
      const clauses = this.OPTION(() => this.SUBRULE(this.definitionClauses, { ARGS: [target] })) ?? [];
      return this.ACTION(() => ({
        kind: 'create-definition',
        target,
        name,
        clauses,
        span: this.spanFrom(start),
      }));
    },
  );

  protected readonly alterDefinition = this.RULE(
    'alterDefinition',
    (start: number): AlterDefinitionStatement => {
      const target = this.SUBRULE(this.definitionTarget);
      const name = this.SUBRULE(this.givenText);
      const actions: DefinitionAction[] = [];
      this.AT_LEAST_ONE(() => actions.push(this.SUBRULE(this.definitionAction, { ARGS: [target] })));
      return this.ACTION(() => ({
        kind: 'alter-definition',
        target,
        name,
        actions,
        span: this.spanFrom(start),
      }));
    },
  );

  protected readonly dropDefinition = this.RULE(
    'dropDefinition',
    (start: number): DropDefinitionStatement => {
      const target = this.SUBRULE(this.definitionTarget);
      const ifExists = this.SUBRULE(this.ifExists);
      const name = this.SUBRULE(this.givenText);
      const cascade = this.OPTION(() => this.CONSUME(keywords.CASCADE));
      return this.ACTION(() => ({
        kind: 'drop-definition',
        target,
        name,
        ifExists,
        isCascade: cascade !== undefined,
        span: this.spanFrom(start),
      }));
    },
  );

  private readonly definitionTarget = this.RULE('definitionTarget', (): DefinitionTarget => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.NODETYPE) },
      { ALT: () => this.CONSUME(keywords.MIXIN) },
      { ALT: () => this.CONSUME(keywords.ARCHETYPE) },
      { ALT: () => this.CONSUME(keywords.ELEMENTTYPE) },
    ]);
    return this.ACTION(() => word.image.toLowerCase() as DefinitionTarget);
  });

  /** With parentheses around all of them, or without. */
  private readonly definitionClauses = this.RULE(
    'definitionClauses',
    (target: DefinitionTarget): DefinitionClause[] => {
      const clauses: DefinitionClause[] = [];
      const written = this.ACTION(() => new Set<string>());
      const args: { ARGS: [DefinitionTarget, Set<string>] } = { ARGS: [target, written] };
      this.OR([
        {
          ALT: () => {
            this.CONSUME(leftParenthesis);
            this.MANY(() => clauses.push(this.SUBRULE(this.definitionClause, args)));
            this.CONSUME(rightParenthesis);
          },
        },
        { ALT: () => this.AT_LEAST_ONE(() => clauses.push(this.SUBRULE2(this.definitionClause, args))) },
      ]);
      return clauses;
    },
  );

  private readonly definitionClause = this.RULE(
    'definitionClause',
    (target: DefinitionTarget, written: Set<string>): DefinitionClause => {
      this.ACTION(() => this.requireClause(target, written));
      return this.choose<DefinitionClause>([
        {
          ALT: () => {
            const word = this.SUBRULE(this.parentWord);
            const name = this.SUBRULE(this.givenText);
            return { kind: word, name };
          },
        },
        {
          ALT: () => {
            this.CONSUME(keywords.MIXINS);
            const names = this.SUBRULE(this.textList);
            return { kind: 'mixins', names };
          },
        },
        {
          ALT: () => {
            const kind = this.SUBRULE(this.descriptiveWord);
            const given = this.SUBRULE2(this.givenText);
            return { kind, text: given };
          },
        },
        {
          ALT: () => {
            this.OR2([
              { ALT: () => this.CONSUME(keywords.PROPERTIES) },
              { ALT: () => this.CONSUME(keywords.FIELDS) },
            ]);
            this.CONSUME(leftParenthesis);
            const properties = this.SUBRULE(this.propertyList);
            this.CONSUME(rightParenthesis);
            return { kind: 'properties', properties };
          },
        },
        {
          ALT: () => {
            const kind = this.SUBRULE(this.typeListWord);
            const names = this.SUBRULE2(this.textList);
            return { kind, names };
          },
        },
        { ALT: () => this.SUBRULE(this.compoundIndex) },
        {
          ALT: () => {
            const flag = this.SUBRULE(this.flagWord);
            return { kind: 'flag', flag };
          },
        },
      ]);
    },
  );

  /** Refuses the clause that is ahead where its target has no such clause, or has read it already. */
  private requireClause(target: DefinitionTarget, written: Set<string>): void {
    const token = this.LA(1);
    const word = token.image.toUpperCase();
    if (!hasPart('CREATE', target, word)) throw this.foreignPart('CREATE', target, token);
    if (written.has(word)) throw this.clauseTwice(word, token.startOffset);
    // A type may have several indexes.
    if (word !== 'COMPOUND_INDEX') written.add(word);
  }

  private foreignPart(verb: 'CREATE' | 'ALTER', target: DefinitionTarget, token: IToken): Error {
    const word = token.image.toUpperCase();
    return this.failAt(
      `Syntax error: ${word} cannot stand in ${verb} ${target.toUpperCase()}`,
      spanOf(token),
    );
  }

  private readonly parentWord = this.RULE('parentWord', (): 'extends' | 'base-node-type' => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.EXTENDS) },
      { ALT: () => this.CONSUME(keywords.BASE_NODE_TYPE) },
    ]);
    return word.tokenType === keywords.EXTENDS ? 'extends' : 'base-node-type';
  });

  private readonly descriptiveWord = this.RULE('descriptiveWord', (): 'title' | 'description' | 'icon' => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.TITLE) },
      { ALT: () => this.CONSUME(keywords.DESCRIPTION) },
      { ALT: () => this.CONSUME(keywords.ICON) },
    ]);
    return this.ACTION(() => word.image.toLowerCase() as 'title' | 'description' | 'icon');
  });

  private readonly typeListWord = this.RULE('typeListWord', (): 'allowed-children' | 'required-nodes' => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.ALLOWED_CHILDREN) },
      { ALT: () => this.CONSUME(keywords.REQUIRED_NODES) },
    ]);
    return word.tokenType === keywords.ALLOWED_CHILDREN ? 'allowed-children' : 'required-nodes';
  });

  private readonly flagWord = this.RULE('flagWord', (): DefinitionFlag => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.VERSIONABLE) },
      { ALT: () => this.CONSUME(keywords.PUBLISHABLE) },
      { ALT: () => this.CONSUME(keywords.AUDITABLE) },
      { ALT: () => this.CONSUME(keywords.INDEXABLE) },
      { ALT: () => this.CONSUME(keywords.STRICT) },
    ]);
    return this.ACTION(() => word.image.toLowerCase() as DefinitionFlag);
  });

  private readonly compoundIndex = this.RULE('compoundIndex', (): CompoundIndexClause => {
    this.CONSUME(keywords.COMPOUND_INDEX);
    const name = this.SUBRULE(this.givenText);
    this.CONSUME(keywords.ON);
    this.CONSUME(leftParenthesis);
    const columns: { name: string; isDescending: boolean }[] = [];
    this.AT_LEAST_ONE_SEP({
      SEP: comma,
      DEF: () => {
        const column = this.OR([{ ALT: () => this.CONSUME(anyLabel) }, { ALT: () => this.CONSUME(text) }]);
        const order = this.OPTION(() =>
          this.OR2([{ ALT: () => this.CONSUME(keywords.ASC) }, { ALT: () => this.CONSUME(keywords.DESC) }]),
        );
        this.ACTION(() =>
          columns.push({
            name: column.tokenType === text ? textOf(column) : nameOf(column),
            isDescending: order?.tokenType === keywords.DESC,
          }),
        );
      },
    });
    this.CONSUME(rightParenthesis);
    return { kind: 'compound-index', name, columns };
  });

  private readonly definitionAction = this.RULE(
    'definitionAction',
    (target: DefinitionTarget): DefinitionAction => {
      this.ACTION(() => {
        const part = this.LA(2);
        const isKnown = partWords.has(part.image.toUpperCase());
        if (isKnown && !hasPart('ALTER', target, part.image.toUpperCase())) {
          throw this.foreignPart('ALTER', target, part);
        }
      });
      return this.choose<DefinitionAction>([
        { ALT: () => this.SUBRULE(this.addAction) },
        {
          ALT: () => {
            this.CONSUME(keywords.MODIFY);
            this.SUBRULE(this.propertyWord);
            const property = this.SUBRULE(this.property);
            return { kind: 'modify-property', property };
          },
        },
        { ALT: () => this.SUBRULE(this.dropAction) },
        { ALT: () => this.SUBRULE(this.setAction) },
      ]);
    },
  );

  private readonly propertyWord = this.RULE('propertyWord', (): void => {
    this.OR([{ ALT: () => this.CONSUME(keywords.PROPERTY) }, { ALT: () => this.CONSUME(keywords.FIELD) }]);
  });

  private readonly addAction = this.RULE('addAction', (): DefinitionAction => {
    this.CONSUME(keywords.ADD);
    return this.choose<DefinitionAction>([
      {
        ALT: () => {
          this.SUBRULE(this.propertyWord);
          const property = this.SUBRULE(this.property);
          return { kind: 'add-property', property };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.MIXIN);
          const name = this.SUBRULE(this.givenText);
          return { kind: 'add-mixin', name };
        },
      },
    ]);
  });

  private readonly dropAction = this.RULE('dropAction', (): DefinitionAction => {
    this.CONSUME(keywords.DROP);
    return this.choose<DefinitionAction>([
      {
        ALT: () => {
          this.SUBRULE(this.propertyWord);
          const path = this.SUBRULE(this.schemaPropertyPath);
          return { kind: 'drop-property', path };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.MIXIN);
          const name = this.SUBRULE(this.givenText);
          return { kind: 'drop-mixin', name };
        },
      },
    ]);
  });

  private readonly setAction = this.RULE('setAction', (): DefinitionAction => {
    this.CONSUME(keywords.SET);
    return this.choose<DefinitionAction>([
      {
        ALT: () => {
          const field = this.SUBRULE(this.descriptiveWord);
          this.CONSUME(equal);
          const given = this.SUBRULE(this.givenText);
          return { kind: 'set-text', field, text: given };
        },
      },
      {
        ALT: () => {
          const field = this.SUBRULE(this.parentWord);
          this.CONSUME2(equal);
          const name = this.SUBRULE(this.textOrNull);
          return { kind: 'set-name', field, name };
        },
      },
      {
        ALT: () => {
          const field = this.SUBRULE(this.typeListWord);
          this.CONSUME3(equal);
          const names = this.SUBRULE(this.openTextList);
          return { kind: 'set-names', field, names };
        },
      },
      {
        ALT: () => {
          const flag = this.SUBRULE(this.flagWord);
          this.CONSUME4(equal);
          const isOn = this.SUBRULE(this.flag);
          return { kind: 'set-flag', flag, isOn };
        },
      },
    ]);
  });

  private readonly textOrNull = this.RULE('textOrNull', (): GivenText | undefined =>
    this.choose<GivenText | undefined>([
      {
        ALT: () => {
          this.CONSUME(keywords.NULL);
          return undefined;
        },
      },
      { ALT: () => this.SUBRULE(this.givenText) },
    ]),
  );

  /** As `textList`, but also `()`. */
  private readonly openTextList = this.RULE('openTextList', (): GivenText[] => {
    const list: GivenText[] = [];
    this.CONSUME(leftParenthesis);
    this.MANY_SEP({ SEP: comma, DEF: () => list.push(this.SUBRULE(this.givenText)) });
    this.CONSUME(rightParenthesis);
    return list;
  });
}

/** What an ALTER may be about, for any target. */
const partWords: ReadonlySet<string> = new Set([
  'PROPERTY',
  'FIELD',
  'MIXIN',
  'TITLE',
  'DESCRIPTION',
  'ICON',
  'EXTENDS',
  'BASE_NODE_TYPE',
  'ALLOWED_CHILDREN',
  'REQUIRED_NODES',
  'VERSIONABLE',
  'PUBLISHABLE',
  'AUDITABLE',
  'INDEXABLE',
  'STRICT',
]);
