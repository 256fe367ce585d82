import type { IToken } from 'chevrotain';
import { nameOf, spanOf, textOf } from './grammar-base.ts';
import type { PropertyIndex, PropertyNode, PropertyTypeNode } from './nodes/schema-nodes.ts';
import type { Span } from './nodes/syntax-nodes.ts';
import {
  anyLabel,
  comma,
  identifier,
  keywords,
  leftBrace,
  rightBrace,
  rightParenthesis,
  text,
} from './tokens.ts';
import { TreeGrammar } from './tree-grammar.ts';

/** The modifiers of a property, while they are read. */
type Modifiers = {
  -readonly [Key in keyof Omit<PropertyNode, 'kind' | 'path' | 'type' | 'span'>]: PropertyNode[Key];
};

const indexWords: Readonly<Record<string, PropertyIndex>> = {
  FULLTEXT: 'fulltext',
  VECTOR: 'vector',
  PROPERTY_INDEX: 'property',
};

/** The rules for properties and their types. */
export abstract class PropertyGrammar extends TreeGrammar {
  /** Properties with commas between them; a comma may follow the last one. */
  protected readonly propertyList = this.RULE('propertyList', (): PropertyNode[] => {
    const properties = [this.SUBRULE(this.property)];
    this.MANY({
      GATE: () => !this.isAhead(2, rightParenthesis, rightBrace),
      DEF: () => {
        this.CONSUME(comma);
        properties.push(this.SUBRULE2(this.property));
      },
    });
    this.OPTION(() => this.CONSUME2(comma));
    return properties;
  });

  protected readonly property = this.RULE('property', (): PropertyNode => {
    const start = this.ACTION(() => this.nextStart);
    const path = this.SUBRULE(this.schemaPropertyPath);
    const type = this.SUBRULE(this.propertyType);
    const modifiers = this.ACTION(
      (): Modifiers => ({
        isRequired: false,
        isUnique: false,
        indexes: [],
        isTranslatable: false,
        defaultValue: undefined,
        label: undefined,
        description: undefined,
        order: undefined,
        allowsAdditional: false,
      }),
    );
    const written = this.ACTION(() => new Set<string>());
    this.MANY(() => this.SUBRULE(this.modifier, { ARGS: [modifiers, written] }));
    return this.ACTION(() => ({ kind: 'property', path, type, ...modifiers, span: this.spanFrom(start) }));
  });

  /** `name`, `"name"` or `'a.b'`. */
  protected readonly schemaPropertyPath = this.RULE('schemaPropertyPath', (): string[] => {
    const token = this.OR([{ ALT: () => this.CONSUME(text) }, { ALT: () => this.CONSUME(anyLabel) }]);
    return this.ACTION(() => {
      const path = token.tokenType === text ? textOf(token).split('.') : [nameOf(token)];
      if (path.includes('')) {
        throw this.failAt('Syntax error: a name of a property must not be empty', spanOf(token));
      }
      return path;
    });
  });

  private readonly propertyType = this.RULE('propertyType', (): PropertyTypeNode => {
    // In a loop, because a chain of them is as long as the text.
    const arrays: number[] = [];
    this.MANY({
      GATE: () => this.isAhead(2, keywords.OF),
      DEF: () => {
        const word = this.CONSUME(keywords.ARRAY);
        this.CONSUME(keywords.OF);
        this.ACTION(() => arrays.push(word.startOffset));
      },
    });
    const inner = this.choose<PropertyTypeNode>([
      { GATE: () => this.isAhead(2, leftBrace), ALT: () => this.SUBRULE(this.objectType) },
      {
        ALT: () => {
          const name = this.OR2([
            { ALT: () => this.CONSUME2(keywords.ARRAY) },
            { ALT: () => this.CONSUME(identifier) },
          ]);
          return this.ACTION(() => ({ kind: 'named-type', name: nameOf(name), span: spanOf(name) }));
        },
        IGNORE_AMBIGUITIES: true,
      },
    ]);
    return this.ACTION(() =>
      arrays.reduceRight<PropertyTypeNode>(
        (of, start): PropertyTypeNode => ({ kind: 'array-type', of, span: spanTo(start, of.span) }),
        inner,
      ),
    );
  });

  /** `Object { … }`. */
  private readonly objectType = this.RULE('objectType', (): PropertyTypeNode => {
    const word = this.CONSUME(identifier);
    this.ACTION(() => {
      if (word.image.toLowerCase() !== 'object') {
        throw this.failAt('Syntax error: only Object may have properties of its own', spanOf(word));
      }
    });
    this.CONSUME(leftBrace);
    const properties = this.SUBRULE(this.propertyList);
    this.CONSUME(rightBrace);
    return this.ACTION(() => ({ kind: 'object-type', properties, span: this.spanFrom(word.startOffset) }));
  });

  private readonly modifier = this.RULE('modifier', (into: Modifiers, written: Set<string>): void => {
    this.ACTION(() => {
      const word = this.LA(1);
      const name = word.image.toUpperCase();
      if (written.has(name)) throw this.clauseTwice(name, word.startOffset);
      written.add(name);
    });
    this.OR([
      {
        ALT: () => {
          const word = this.SUBRULE(this.plainModifier);
          this.ACTION(() => setModifier(into, word));
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.DEFAULT);
          const value = this.SUBRULE(this.expression);
          this.ACTION(() => {
            into.defaultValue = value;
          });
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.LABEL);
          const label = this.SUBRULE(this.givenText);
          this.ACTION(() => {
            into.label = label;
          });
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.DESCRIPTION);
          const description = this.SUBRULE2(this.givenText);
          this.ACTION(() => {
            into.description = description;
          });
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.ORDER);
          const order = this.SUBRULE(this.givenNumber);
          this.ACTION(() => {
            into.order = Number(order.value);
          });
        },
      },
    ]);
  });

  private readonly plainModifier = this.RULE(
    'plainModifier',
    (): IToken =>
      this.OR([
        { ALT: () => this.CONSUME(keywords.REQUIRED) },
        { ALT: () => this.CONSUME(keywords.UNIQUE) },
        { ALT: () => this.CONSUME(keywords.FULLTEXT) },
        { ALT: () => this.CONSUME(keywords.VECTOR) },
        { ALT: () => this.CONSUME(keywords.PROPERTY_INDEX) },
        { ALT: () => this.CONSUME(keywords.TRANSLATABLE) },
        { ALT: () => this.CONSUME(keywords.ALLOW_ADDITIONAL_PROPERTIES) },
      ]),
  );
}

function setModifier(into: Modifiers, word: IToken): void {
  const index = indexWords[word.image.toUpperCase()];
  if (index !== undefined) into.indexes = [...into.indexes, index];
  else if (word.tokenType === keywords.REQUIRED) into.isRequired = true;
  else if (word.tokenType === keywords.UNIQUE) into.isUnique = true;
  else if (word.tokenType === keywords.TRANSLATABLE) into.isTranslatable = true;
  else into.allowsAdditional = true;
}

function spanTo(start: number, end: Span): Span {
  return { start, end: end.end };
}
