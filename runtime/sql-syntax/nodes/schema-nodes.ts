import type { Expression, Span } from './syntax-nodes.ts';
import type { GivenText } from './given-nodes.ts';

/** The four kinds of definition, as the statements call them. */
export type DefinitionTarget = 'nodetype' | 'mixin' | 'archetype' | 'elementtype';

/** The name of a type as it was written; which names there are is told where the statement is run. */
export interface NamedTypeNode {
  readonly kind: 'named-type';
  readonly name: string;
  readonly span: Span;
}
/** `Array OF type`. */
export interface ArrayTypeNode {
  readonly kind: 'array-type';
  readonly of: PropertyTypeNode;
  readonly span: Span;
}
/** `Object { … }`. */
export interface ObjectTypeNode {
  readonly kind: 'object-type';
  readonly properties: readonly PropertyNode[];
  readonly span: Span;
}
/** The type of a property or field. */
export type PropertyTypeNode = NamedTypeNode | ArrayTypeNode | ObjectTypeNode;

/** A kind of index of a property. */
export type PropertyIndex = 'fulltext' | 'vector' | 'property';

/** A property or field with its modifiers. */
export interface PropertyNode {
  readonly kind: 'property';
  /** `'a.b'` addresses a property of a nested object. */
  readonly path: readonly string[];
  readonly type: PropertyTypeNode;
  readonly isRequired: boolean;
  readonly isUnique: boolean;
  readonly indexes: readonly PropertyIndex[];
  readonly isTranslatable: boolean;
  readonly defaultValue: Expression | undefined;
  readonly label: GivenText | undefined;
  readonly description: GivenText | undefined;
  readonly order: number | undefined;
  readonly allowsAdditional: boolean;
  readonly span: Span;
}

/** A flag of a definition. */
export type DefinitionFlag = 'versionable' | 'publishable' | 'auditable' | 'indexable' | 'strict';

/** A part of a CREATE. Which parts a target may have is told by the grammar. */
export type DefinitionClause =
  | { readonly kind: 'extends' | 'base-node-type'; readonly name: GivenText }
  | { readonly kind: 'mixins'; readonly names: readonly GivenText[] }
  | { readonly kind: 'title' | 'description' | 'icon'; readonly text: GivenText }
  | { readonly kind: 'properties'; readonly properties: readonly PropertyNode[] }
  | { readonly kind: 'allowed-children' | 'required-nodes'; readonly names: readonly GivenText[] }
  | {
      readonly kind: 'compound-index';
      readonly name: GivenText;
      readonly columns: readonly { readonly name: string; readonly isDescending: boolean }[];
    }
  | { readonly kind: 'flag'; readonly flag: DefinitionFlag };

/** A step of an ALTER. */
export type DefinitionAction =
  | { readonly kind: 'add-property' | 'modify-property'; readonly property: PropertyNode }
  | { readonly kind: 'drop-property'; readonly path: readonly string[] }
  | { readonly kind: 'set-text'; readonly field: 'title' | 'description' | 'icon'; readonly text: GivenText }
  /** Undefined: NULL. */
  | {
      readonly kind: 'set-name';
      readonly field: 'extends' | 'base-node-type';
      readonly name: GivenText | undefined;
    }
  | {
      readonly kind: 'set-names';
      readonly field: 'allowed-children' | 'required-nodes';
      readonly names: readonly GivenText[];
    }
  | { readonly kind: 'add-mixin' | 'drop-mixin'; readonly name: GivenText }
  | { readonly kind: 'set-flag'; readonly flag: DefinitionFlag; readonly isOn: boolean };

/** `CREATE NODETYPE|MIXIN|ARCHETYPE|ELEMENTTYPE 'n' …`. */
export interface CreateDefinitionStatement {
  readonly kind: 'create-definition';
  readonly target: DefinitionTarget;
  readonly name: GivenText;
  readonly clauses: readonly DefinitionClause[];
  readonly span: Span;
}
/** `ALTER NODETYPE|MIXIN|ARCHETYPE|ELEMENTTYPE 'n' …`. */
export interface AlterDefinitionStatement {
  readonly kind: 'alter-definition';
  readonly target: DefinitionTarget;
  readonly name: GivenText;
  readonly actions: readonly DefinitionAction[];
  readonly span: Span;
}
/** `DROP NODETYPE|MIXIN|ARCHETYPE|ELEMENTTYPE [IF EXISTS] 'n' [CASCADE]`. */
export interface DropDefinitionStatement {
  readonly kind: 'drop-definition';
  readonly target: DefinitionTarget;
  readonly name: GivenText;
  readonly ifExists: boolean;
  readonly isCascade: boolean;
  readonly span: Span;
}
/** A statement about the schema. */
export type SchemaStatement = CreateDefinitionStatement | AlterDefinitionStatement | DropDefinitionStatement;
