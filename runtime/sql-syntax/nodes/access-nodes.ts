import type { GivenText, GivenValue } from './given-nodes.ts';
import type { Span } from './syntax-nodes.ts';

/** What the statements of access are about. */
export type AccessTarget = 'role' | 'group' | 'user';

/** `ALLOW op, … [ON 'ws'] PATH 'glob' [BRANCH 'glob'] [NODE TYPES (…)] [FIELDS (…)] [EXCEPT FIELDS (…)] [WHERE rel]`. */
export interface GrantNode {
  /** In lower case. */
  readonly operations: readonly string[];
  readonly workspace: GivenText | undefined;
  readonly path: GivenText;
  readonly branch: GivenText | undefined;
  readonly nodeTypes: readonly GivenText[] | undefined;
  /** Names may be bare words, read as literals of type text. */
  readonly fields: readonly GivenText[] | undefined;
  readonly exceptFields: readonly GivenText[] | undefined;
  /** The text of the condition, as it was written. */
  readonly condition: string | undefined;
  readonly span: Span;
}
/** `CREATE ROLE 'r' [DESCRIPTION 'd'] [INHERITS (…)] [PERMISSIONS (…)]`. */
export interface CreateRoleStatement {
  readonly kind: 'create-role';
  readonly name: GivenText;
  readonly description: GivenText | undefined;
  readonly inherits: readonly GivenText[];
  readonly permissions: readonly GrantNode[];
  readonly span: Span;
}
/** `ALTER ROLE 'r' …`. */
export interface AlterRoleStatement {
  readonly kind: 'alter-role';
  readonly name: GivenText;
  readonly change:
    | { readonly kind: 'add-permission'; readonly grant: GrantNode }
    /** Counted from 1. */
    | { readonly kind: 'drop-permission'; readonly number: GivenValue }
    | { readonly kind: 'add-inherits' | 'drop-inherits'; readonly roles: readonly GivenText[] }
    | { readonly kind: 'set-description'; readonly text: GivenText };
  readonly span: Span;
}
/** `CREATE GROUP 'g' [DESCRIPTION 'd'] [ROLES (…)]`. */
export interface CreateGroupStatement {
  readonly kind: 'create-group';
  readonly name: GivenText;
  readonly description: GivenText | undefined;
  readonly roles: readonly GivenText[];
  readonly span: Span;
}
/** `ALTER GROUP 'g' …`. */
export interface AlterGroupStatement {
  readonly kind: 'alter-group';
  readonly name: GivenText;
  readonly change:
    | { readonly kind: 'add-roles' | 'drop-roles'; readonly roles: readonly GivenText[] }
    | { readonly kind: 'set-description'; readonly text: GivenText };
  readonly span: Span;
}
/** `CREATE USER 'u' EMAIL 'e' [DISPLAY NAME 'd'] [ROLES (…)] [GROUPS (…)] [CAN LOGIN b] [BIRTH DATE 'd'] [IN FOLDER '/p']`. */
export interface CreateUserStatement {
  readonly kind: 'create-user';
  readonly name: GivenText;
  readonly email: GivenText | undefined;
  readonly displayName: GivenText | undefined;
  readonly roles: readonly GivenText[];
  readonly groups: readonly GivenText[];
  readonly canLogin: boolean | undefined;
  readonly birthDate: GivenText | undefined;
  readonly folder: GivenText | undefined;
  readonly span: Span;
}
/** `ALTER USER 'u' …`. */
export interface AlterUserStatement {
  readonly kind: 'alter-user';
  readonly name: GivenText;
  readonly change:
    | {
        readonly kind: 'add' | 'drop';
        readonly what: 'roles' | 'groups';
        readonly names: readonly GivenText[];
      }
    | {
        readonly kind: 'set';
        readonly field: 'email' | 'display-name' | 'can-login' | 'birth-date';
        readonly value: GivenValue;
      };
  readonly span: Span;
}
/** `DROP ROLE|GROUP|USER [IF EXISTS] 'x'`. */
export interface DropAccessStatement {
  readonly kind: 'drop-access';
  readonly target: AccessTarget;
  readonly name: GivenText;
  readonly ifExists: boolean;
  readonly span: Span;
}
/** `DESCRIBE ROLE|GROUP|USER 'x'`. */
export interface DescribeAccessStatement {
  readonly kind: 'describe-access';
  readonly target: AccessTarget;
  readonly name: GivenText;
  readonly span: Span;
}
/** `SHOW ROLES|GROUPS|USERS [LIKE 'p'] [IN GROUP 'g'] [WITH ROLE 'r']`. */
export interface ShowAccessStatement {
  readonly kind: 'show-access';
  readonly target: AccessTarget;
  readonly like: GivenText | undefined;
  /** Of users only. */
  readonly inGroup: GivenText | undefined;
  /** Of users only. */
  readonly withRole: GivenText | undefined;
  readonly span: Span;
}
/** `GRANT ROLE[S]|GROUP[S] 'x', … TO USER|GROUP 'z'`, `REVOKE … FROM …`. */
export interface GrantStatement {
  readonly kind: 'grant' | 'revoke';
  readonly what: 'role' | 'group';
  readonly names: readonly GivenText[];
  readonly to: 'user' | 'group';
  readonly name: GivenText;
  readonly span: Span;
}
/** A setting of ALTER SECURITY CONFIG. */
export type SecuritySetting =
  | { readonly kind: 'default-policy'; readonly policy: GivenText }
  | { readonly kind: 'anonymous-enabled'; readonly isEnabled: boolean }
  | { readonly kind: 'anonymous-role'; readonly role: GivenText }
  | {
      readonly kind: 'interface';
      readonly name: string;
      /** `ANONYMOUS ENABLED bool` is key `anonymous_enabled`. */
      readonly key: string;
      readonly value: GivenValue;
    };
/** `ALTER SECURITY CONFIG 'pattern' SET setting …`. */
export interface AlterSecurityStatement {
  readonly kind: 'alter-security';
  readonly pattern: GivenText;
  readonly settings: readonly SecuritySetting[];
  readonly span: Span;
}
/** `SHOW SECURITY CONFIG [FOR 'ws']`. */
export interface ShowSecurityStatement {
  readonly kind: 'show-security';
  readonly workspace: GivenText | undefined;
  readonly span: Span;
}
/** `SHOW PERMISSIONS FOR USER 'u' [ON 'ws']`. */
export interface ShowPermissionsStatement {
  readonly kind: 'show-permissions';
  readonly user: GivenText;
  readonly workspace: GivenText | undefined;
  readonly span: Span;
}
/** `SHOW EFFECTIVE ROLES FOR USER 'u'`. */
export interface ShowEffectiveRolesStatement {
  readonly kind: 'show-effective-roles';
  readonly user: GivenText;
  readonly span: Span;
}
/** A statement of access that writes. */
export type AccessChangeStatement =
  | CreateRoleStatement
  | AlterRoleStatement
  | CreateGroupStatement
  | AlterGroupStatement
  | CreateUserStatement
  | AlterUserStatement
  | DropAccessStatement
  | GrantStatement
  | AlterSecurityStatement;
/** A statement of access that reads. */
export type AccessReadStatement =
  | DescribeAccessStatement
  | ShowAccessStatement
  | ShowSecurityStatement
  | ShowPermissionsStatement
  | ShowEffectiveRolesStatement;
