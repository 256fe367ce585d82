import type { GivenText, GivenValue } from './given-nodes.ts';
import type { Span } from './syntax-nodes.ts';
import type { RestoredRevision } from './tree-nodes.ts';

// The name of a branch is a GivenText: a bare name is read as a literal of type text.

/** `CREATE BRANCH 'b' [FROM 'a'] [AT REVISION r] [DESCRIPTION 'd'] [PROTECTED] [UPSTREAM 'u'] [WITH HISTORY]`, in any order. */
export interface CreateBranchStatement {
  readonly kind: 'create-branch';
  readonly name: GivenText;
  readonly from: GivenText | undefined;
  readonly at: RestoredRevision | undefined;
  readonly description: GivenText | undefined;
  readonly isProtected: boolean;
  readonly upstream: GivenText | undefined;
  readonly span: Span;
}
/** `ALTER BRANCH 'b' …`. */
export interface AlterBranchStatement {
  readonly kind: 'alter-branch';
  readonly name: GivenText;
  readonly change: /** Undefined: UNSET UPSTREAM. */
    | { readonly kind: 'upstream'; readonly upstream: GivenText | undefined }
    | { readonly kind: 'protected'; readonly isProtected: boolean }
    | { readonly kind: 'description'; readonly text: GivenText }
    | { readonly kind: 'rename'; readonly name: GivenText };
  readonly span: Span;
}
/** `DROP BRANCH [IF EXISTS] 'b'`. */
export interface DropBranchStatement {
  readonly kind: 'drop-branch';
  readonly name: GivenText;
  readonly ifExists: boolean;
  readonly span: Span;
}
/** How a conflict of a merge is decided. */
export interface ConflictResolution {
  readonly nodeId: GivenText;
  readonly locale: GivenText | undefined;
  readonly decision:
    | { readonly kind: 'keep-ours' | 'keep-theirs' | 'delete' }
    | { readonly kind: 'use-value'; readonly json: GivenText };
  readonly span: Span;
}
/** `MERGE BRANCH 's' INTO 't' [USING …] [MESSAGE 'm'] [RESOLVE CONFLICTS (…)]`. */
export interface MergeBranchStatement {
  readonly kind: 'merge-branch';
  readonly source: GivenText;
  readonly target: GivenText;
  readonly strategy: 'fast-forward' | 'three-way' | undefined;
  readonly message: GivenText | undefined;
  readonly resolutions: readonly ConflictResolution[];
  readonly span: Span;
}
/** `SHOW BRANCHES`, `SHOW CURRENT BRANCH` (also `SHOW app.branch`). */
export interface ShowBranchesStatement {
  readonly kind: 'show-branches' | 'show-current-branch';
  readonly span: Span;
}
/** `DESCRIBE BRANCH 'b'`. */
export interface DescribeBranchStatement {
  readonly kind: 'describe-branch';
  readonly name: GivenText;
  readonly span: Span;
}
/** `SHOW DIVERGENCE 'b' FROM 'base'`; `SHOW CONFLICTS FOR MERGE 's' INTO 't'`. */
export interface CompareBranchesStatement {
  readonly kind: 'show-divergence' | 'show-conflicts';
  /** The branch; of conflicts, the source. */
  readonly branch: GivenText;
  /** The base; of conflicts, the target. */
  readonly base: GivenText;
  readonly span: Span;
}
/** `USE|CHECKOUT [LOCAL] BRANCH 'b'`, `SET [LOCAL] app.branch = 'b'`. */
export interface UseBranchStatement {
  readonly kind: 'use-branch';
  readonly name: GivenText;
  readonly isLocal: boolean;
  readonly span: Span;
}
/** A statement about branches. */
export type BranchStatement =
  | CreateBranchStatement
  | AlterBranchStatement
  | DropBranchStatement
  | MergeBranchStatement
  | ShowBranchesStatement
  | DescribeBranchStatement
  | CompareBranchesStatement
  | UseBranchStatement;

/** `BEGIN [TRANSACTION]`, also `START TRANSACTION`. */
export interface BeginStatement {
  readonly kind: 'begin';
  readonly span: Span;
}
/** `COMMIT [[WITH] MESSAGE 'm'] [ACTOR 'a']`. */
export interface CommitStatement {
  readonly kind: 'commit';
  readonly message: GivenText | undefined;
  readonly actor: GivenText | undefined;
  readonly span: Span;
}
/** `ROLLBACK`. */
export interface RollbackStatement {
  readonly kind: 'rollback';
  readonly span: Span;
}
/** `SET [SESSION|LOCAL] name = value`, `SET name TO value`; the name in lower case, with its dots. */
export interface SetVariableStatement {
  readonly kind: 'set-variable';
  readonly name: string;
  /** A bare word is read as a literal of type text. Undefined: DEFAULT. */
  readonly value: GivenValue | undefined;
  readonly span: Span;
}
/** `SHOW name`; the name in lower case, words separated by one space (`transaction isolation level`). */
export interface ShowVariableStatement {
  readonly kind: 'show-variable';
  readonly name: string;
  readonly span: Span;
}
/** A statement about the session. */
export type SessionStatement =
  | BeginStatement
  | CommitStatement
  | RollbackStatement
  | SetVariableStatement
  | ShowVariableStatement;
