import type { GivenText, GivenValue, WorkspaceName } from './given-nodes.ts';
import type { Span } from './syntax-nodes.ts';

/** `path='/p'` or `id='x'`. */
export interface NodeReference {
  readonly by: 'path' | 'id';
  readonly value: GivenText;
  readonly span: Span;
}
/** A node with the workspace it is in. */
export interface PlacedReference {
  readonly node: NodeReference;
  /** Absent: the default workspace of the statement. */
  readonly workspace: GivenText | undefined;
}
/** `MOVE ws [IN BRANCH 'b'] SET ref TO ref`: below a new parent. */
export interface MoveStatement {
  readonly kind: 'move';
  readonly workspace: WorkspaceName;
  readonly branch: GivenText | undefined;
  readonly source: NodeReference;
  readonly target: NodeReference;
  readonly span: Span;
}
/** `COPY [TREE] ws [IN BRANCH 'b'] SET ref TO ref [AS 'name']`. */
export interface CopyStatement {
  readonly kind: 'copy';
  readonly isTree: boolean;
  readonly workspace: WorkspaceName;
  readonly branch: GivenText | undefined;
  readonly source: NodeReference;
  readonly target: NodeReference;
  readonly newName: GivenText | undefined;
  readonly span: Span;
}
/** `ORDER ws [IN BRANCH 'b'] SET ref ABOVE|BELOW ref`. */
export interface OrderStatement {
  readonly kind: 'order';
  readonly workspace: WorkspaceName;
  readonly branch: GivenText | undefined;
  readonly source: NodeReference;
  readonly position: 'above' | 'below';
  readonly target: NodeReference;
  readonly span: Span;
}
/** `RELATE [IN BRANCH 'b'] FROM ref [IN WORKSPACE 'w'] TO ref [IN WORKSPACE 'w'] [TYPE 't'] [WEIGHT n]`. */
export interface RelateStatement {
  readonly kind: 'relate';
  readonly branch: GivenText | undefined;
  readonly source: PlacedReference;
  readonly target: PlacedReference;
  readonly type: GivenText | undefined;
  readonly weight: GivenValue | undefined;
  readonly span: Span;
}
/** `UNRELATE …`, as {@link RelateStatement} without a weight. */
export interface UnrelateStatement {
  readonly kind: 'unrelate';
  readonly branch: GivenText | undefined;
  readonly source: PlacedReference;
  readonly target: PlacedReference;
  readonly type: GivenText | undefined;
  readonly span: Span;
}
/** What a node is restored to: `HEAD~2`, `branch~2`, or a revision. */
export type RestoredRevision =
  /** `branch` is undefined for HEAD. */
  | { readonly kind: 'relative'; readonly branch: string | undefined; readonly distance: number }
  /** `'<ms>-<counter>'`, a parameter, or `<ms>_<counter>` (given as the text with `-`). */
  | { readonly kind: 'revision'; readonly revision: GivenText };
/** `RESTORE [TREE] NODE ref [IN WORKSPACE 'w'] [IN BRANCH 'b'] TO REVISION rev [TRANSLATIONS ('de', 'fr')]`. */
export interface RestoreStatement {
  readonly kind: 'restore';
  readonly isTree: boolean;
  readonly node: PlacedReference;
  readonly branch: GivenText | undefined;
  readonly revision: RestoredRevision;
  /** Undefined: all translations are restored with the node. */
  readonly translations: readonly GivenText[] | undefined;
  readonly span: Span;
}
/** `a.b`, `a[uuid='u'].b`. */
export type TranslatedStep =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'element'; readonly uuid: string };
/** `tpath = value`; NULL drops the translation. */
export interface TranslatedValue {
  readonly path: readonly TranslatedStep[];
  readonly value: GivenValue;
  readonly span: Span;
}
/** `UPDATE ws FOR LOCALE 'de' [IN BRANCH 'b'] SET tpath = value, … WHERE …`. */
export interface TranslateStatement {
  readonly kind: 'translate';
  readonly workspace: WorkspaceName;
  readonly locale: GivenText;
  readonly branch: GivenText | undefined;
  readonly values: readonly TranslatedValue[];
  /** Both undefined: there was no WHERE, which is refused later with the text for it. */
  readonly node: NodeReference | undefined;
  readonly nodeType: GivenText | undefined;
  readonly span: Span;
}
/** A statement about the tree of a workspace. */
export type TreeStatement =
  | MoveStatement
  | CopyStatement
  | OrderStatement
  | RelateStatement
  | UnrelateStatement
  | RestoreStatement
  | TranslateStatement;
