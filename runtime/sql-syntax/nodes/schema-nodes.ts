import type { Expression, Span } from './syntax-nodes.ts';
import type { GivenText } from './given-nodes.ts';

/** The four kinds of definition, as the statements call them. */
export type DefinitionTarget = 'nodetype' | 'mixin' | 'archetype' | 'elementtype';

/** The type of a property or field. */
export type PropertyTypeNode =
  /** One of the names of the dialect, as written; the binder tells whether it is one. */
  | { readonly kind: 'named'; readonly name: string; readonly span: Span }
  | { readonly kind: 'array'; readonly of: PropertyTypeNode; readonly span: Span }
  | { readonly kind: 'object'; readonly properties: readonly PropertyNode[]; readonly span: Span };

/** A property or field with its modifiers. */
export interface PropertyNode {
  /** `a.b` addresses a property of a nested object. */
  readonly path: readonly string[];
  readonly type: PropertyTypeNode;
  readonly isRequired: boolean;
  readonly isUnique: boolean;
  readonly indexes: readonly ('fulltext' | 'vector' | 'property')[];
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
  | { readonly kind: 'extends'; readonly name: GivenText }
  | { readonly kind: 'base-node-type'; readonly name: GivenText }
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
