import type { IToken } from 'chevrotain';
import { GrantGrammar } from './grant-grammar.ts';
import type {
  AccessChangeStatement,
  AccessTarget,
  AlterGroupStatement,
  AlterRoleStatement,
  AlterSecurityStatement,
  AlterUserStatement,
  CreateGroupStatement,
  CreateRoleStatement,
  CreateUserStatement,
  DescribeAccessStatement,
  DropAccessStatement,
  GrantNode,
  GrantStatement,
  SecuritySetting,
  ShowAccessStatement,
  ShowEffectiveRolesStatement,
  ShowPermissionsStatement,
  ShowSecurityStatement,
} from './nodes/access-nodes.ts';
import type { GivenText, GivenValue } from './nodes/given-nodes.ts';
import { comma, equal, keywords, leftParenthesis, rightParenthesis } from './tokens.ts';

type RoleChange = AlterRoleStatement['change'];
type GroupChange = AlterGroupStatement['change'];
type UserChange = AlterUserStatement['change'];
type UserField = Extract<UserChange, { kind: 'set' }>['field'];

/** What the clauses of a statement have given so far. */
type Parts<Statement> = { -readonly [Key in keyof Statement]?: Statement[Key] | undefined };

/**
 * The rules for statements about roles, groups, users and the security configuration. CREATE, ALTER, DROP, DESCRIBE and SHOW
 * were read before: these rules begin with the second word and get the offset of the first.
 */
export abstract class AccessGrammar extends GrantGrammar {
  protected readonly createAccess = this.RULE(
    'createAccess',
    (start: number): AccessChangeStatement =>
      this.choose<AccessChangeStatement>([
        { ALT: () => this.SUBRULE(this.createRole, { ARGS: [start] }) },
        { ALT: () => this.SUBRULE(this.createGroup, { ARGS: [start] }) },
        { ALT: () => this.SUBRULE(this.createUser, { ARGS: [start] }) },
      ]),
  );

  protected readonly alterAccess = this.RULE(
    'alterAccess',
    (start: number): AccessChangeStatement =>
      this.choose<AccessChangeStatement>([
        { ALT: () => this.SUBRULE(this.alterRole, { ARGS: [start] }) },
        { ALT: () => this.SUBRULE(this.alterGroup, { ARGS: [start] }) },
        { ALT: () => this.SUBRULE(this.alterUser, { ARGS: [start] }) },
        { ALT: () => this.SUBRULE(this.alterSecurity, { ARGS: [start] }) },
      ]),
  );

  protected readonly dropAccess = this.RULE('dropAccess', (start: number): DropAccessStatement => {
    const target = this.SUBRULE(this.accessTarget);
    const ifExists = this.SUBRULE(this.ifExists);
    const name = this.SUBRULE(this.givenText);
    return this.ACTION(() => ({ kind: 'drop-access', target, name, ifExists, span: this.spanFrom(start) }));
  });

  protected readonly describeAccess = this.RULE(
    'describeAccess',
    (start: number): DescribeAccessStatement => {
      const target = this.SUBRULE(this.accessTarget);
      const name = this.SUBRULE(this.givenText);
      return this.ACTION(() => ({ kind: 'describe-access', target, name, span: this.spanFrom(start) }));
    },
  );

  private readonly accessTarget = this.RULE('accessTarget', (): AccessTarget => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.ROLE) },
      { ALT: () => this.CONSUME(keywords.GROUP) },
      { ALT: () => this.CONSUME(keywords.USER) },
    ]);
    return this.ACTION(() => word.image.toLowerCase() as AccessTarget);
  });

  /** Refuses a clause that was read before. */
  private once(isWritten: boolean, clause: string, word: IToken): void {
    this.ACTION(() => {
      if (isWritten) throw this.clauseTwice(clause, word.startOffset);
    });
  }

  private readonly createRole = this.RULE('createRole', (start: number): CreateRoleStatement => {
    this.CONSUME(keywords.ROLE);
    const name = this.SUBRULE(this.givenText);
    const parts: Parts<CreateRoleStatement> = {};
    this.MANY(() => {
      this.OR([
        {
          ALT: () => {
            this.once(parts.description !== undefined, 'DESCRIPTION', this.CONSUME(keywords.DESCRIPTION));
            parts.description = this.SUBRULE2(this.givenText);
          },
        },
        {
          ALT: () => {
            this.once(parts.inherits !== undefined, 'INHERITS', this.CONSUME(keywords.INHERITS));
            parts.inherits = this.SUBRULE(this.textList);
          },
        },
        {
          ALT: () => {
            this.once(parts.permissions !== undefined, 'PERMISSIONS', this.CONSUME(keywords.PERMISSIONS));
            parts.permissions = this.SUBRULE(this.grantList);
          },
        },
      ]);
    });
    return this.ACTION(() => ({
      kind: 'create-role',
      name,
      description: parts.description,
      inherits: parts.inherits ?? [],
      permissions: parts.permissions ?? [],
      span: this.spanFrom(start),
    }));
  });

  private readonly grantList = this.RULE('grantList', (): GrantNode[] => {
    const grants: GrantNode[] = [];
    this.CONSUME(leftParenthesis);
    this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => grants.push(this.SUBRULE(this.permission)) });
    this.CONSUME(rightParenthesis);
    return grants;
  });

  private readonly alterRole = this.RULE('alterRole', (start: number): AlterRoleStatement => {
    this.CONSUME(keywords.ROLE);
    const name = this.SUBRULE(this.givenText);
    const change = this.choose<RoleChange>([
      { ALT: () => this.SUBRULE(this.addToRole) },
      { ALT: () => this.SUBRULE(this.dropFromRole) },
      {
        ALT: () => {
          const text = this.SUBRULE(this.setDescription);
          return { kind: 'set-description', text };
        },
      },
    ]);
    return this.ACTION(() => ({ kind: 'alter-role', name, change, span: this.spanFrom(start) }));
  });

  private readonly addToRole = this.RULE('addToRole', (): RoleChange => {
    this.CONSUME(keywords.ADD);
    return this.choose<RoleChange>([
      {
        ALT: () => {
          this.CONSUME(keywords.PERMISSION);
          return { kind: 'add-permission', grant: this.SUBRULE(this.permission) };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.INHERITS);
          return { kind: 'add-inherits', roles: this.SUBRULE(this.textList) };
        },
      },
    ]);
  });

  private readonly dropFromRole = this.RULE('dropFromRole', (): RoleChange => {
    this.CONSUME(keywords.DROP);
    return this.choose<RoleChange>([
      {
        ALT: () => {
          this.CONSUME(keywords.PERMISSION);
          return { kind: 'drop-permission', number: this.SUBRULE(this.givenValue) };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.INHERITS);
          return { kind: 'drop-inherits', roles: this.SUBRULE(this.textList) };
        },
      },
    ]);
  });

  /** `SET DESCRIPTION 'd'`; `=` may stand before the text. */
  private readonly setDescription = this.RULE('setDescription', (): GivenText => {
    this.CONSUME(keywords.SET);
    this.CONSUME(keywords.DESCRIPTION);
    this.OPTION(() => this.CONSUME(equal));
    return this.SUBRULE(this.givenText);
  });

  private readonly createGroup = this.RULE('createGroup', (start: number): CreateGroupStatement => {
    this.CONSUME(keywords.GROUP);
    const name = this.SUBRULE(this.givenText);
    const parts: Parts<CreateGroupStatement> = {};
    this.MANY(() => {
      this.OR([
        {
          ALT: () => {
            this.once(parts.description !== undefined, 'DESCRIPTION', this.CONSUME(keywords.DESCRIPTION));
            parts.description = this.SUBRULE2(this.givenText);
          },
        },
        {
          ALT: () => {
            this.once(parts.roles !== undefined, 'ROLES', this.CONSUME(keywords.ROLES));
            parts.roles = this.SUBRULE(this.textList);
          },
        },
      ]);
    });
    return this.ACTION(() => ({
      kind: 'create-group',
      name,
      description: parts.description,
      roles: parts.roles ?? [],
      span: this.spanFrom(start),
    }));
  });

  private readonly alterGroup = this.RULE('alterGroup', (start: number): AlterGroupStatement => {
    this.CONSUME(keywords.GROUP);
    const name = this.SUBRULE(this.givenText);
    const change = this.choose<GroupChange>([
      {
        ALT: () => {
          this.CONSUME(keywords.ADD);
          this.CONSUME(keywords.ROLES);
          return { kind: 'add-roles', roles: this.SUBRULE(this.textList) };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.DROP);
          this.CONSUME2(keywords.ROLES);
          return { kind: 'drop-roles', roles: this.SUBRULE2(this.textList) };
        },
      },
      {
        ALT: () => {
          const text = this.SUBRULE(this.setDescription);
          return { kind: 'set-description', text };
        },
      },
    ]);
    return this.ACTION(() => ({ kind: 'alter-group', name, change, span: this.spanFrom(start) }));
  });

  private readonly createUser = this.RULE('createUser', (start: number): CreateUserStatement => {
    this.CONSUME(keywords.USER);
    const name = this.SUBRULE(this.givenText);
    const parts: Parts<CreateUserStatement> = {};
    this.MANY(() => this.SUBRULE(this.userClause, { ARGS: [parts] }));
    return this.ACTION(() => ({
      kind: 'create-user',
      name,
      email: parts.email,
      displayName: parts.displayName,
      roles: parts.roles ?? [],
      groups: parts.groups ?? [],
      canLogin: parts.canLogin,
      birthDate: parts.birthDate,
      folder: parts.folder,
      span: this.spanFrom(start),
    }));
  });

  private readonly userClause = this.RULE('userClause', (parts: Parts<CreateUserStatement>): void => {
    // Rules are recorded without arguments.
    const into = parts ?? {};
    this.OR([
      {
        ALT: () => {
          this.once(into.email !== undefined, 'EMAIL', this.CONSUME(keywords.EMAIL));
          into.email = this.SUBRULE(this.givenText);
        },
      },
      {
        ALT: () => {
          this.once(into.displayName !== undefined, 'DISPLAY NAME', this.CONSUME(keywords.DISPLAY));
          this.CONSUME(keywords.NAME);
          into.displayName = this.SUBRULE2(this.givenText);
        },
      },
      {
        ALT: () => {
          this.once(into.roles !== undefined, 'ROLES', this.CONSUME(keywords.ROLES));
          into.roles = this.SUBRULE(this.textList);
        },
      },
      {
        ALT: () => {
          this.once(into.groups !== undefined, 'GROUPS', this.CONSUME(keywords.GROUPS));
          into.groups = this.SUBRULE2(this.textList);
        },
      },
      {
        ALT: () => {
          this.once(into.canLogin !== undefined, 'CAN LOGIN', this.CONSUME(keywords.CAN));
          this.CONSUME(keywords.LOGIN);
          into.canLogin = this.SUBRULE(this.flag);
        },
      },
      {
        ALT: () => {
          this.once(into.birthDate !== undefined, 'BIRTH DATE', this.CONSUME(keywords.BIRTH));
          this.CONSUME(keywords.DATE);
          into.birthDate = this.SUBRULE3(this.givenText);
        },
      },
      {
        ALT: () => {
          this.once(into.folder !== undefined, 'IN FOLDER', this.CONSUME(keywords.IN));
          this.CONSUME(keywords.FOLDER);
          into.folder = this.SUBRULE4(this.givenText);
        },
      },
    ]);
  });

  private readonly alterUser = this.RULE('alterUser', (start: number): AlterUserStatement => {
    this.CONSUME(keywords.USER);
    const name = this.SUBRULE(this.givenText);
    const change = this.choose<UserChange>([
      {
        ALT: () => {
          const kind = this.SUBRULE(this.addOrDrop);
          const what = this.SUBRULE(this.membershipWord);
          return { kind, what, names: this.SUBRULE(this.textList) };
        },
      },
      {
        ALT: () => {
          this.CONSUME(keywords.SET);
          const field = this.SUBRULE(this.userField);
          this.OPTION(() => this.CONSUME(equal));
          return { kind: 'set', field, value: this.SUBRULE(this.givenValue) };
        },
      },
    ]);
    return this.ACTION(() => ({ kind: 'alter-user', name, change, span: this.spanFrom(start) }));
  });

  private readonly addOrDrop = this.RULE('addOrDrop', (): 'add' | 'drop' => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.ADD) },
      { ALT: () => this.CONSUME(keywords.DROP) },
    ]);
    return word.tokenType === keywords.ADD ? 'add' : 'drop';
  });

  private readonly membershipWord = this.RULE('membershipWord', (): 'roles' | 'groups' => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.ROLES) },
      { ALT: () => this.CONSUME(keywords.GROUPS) },
    ]);
    return word.tokenType === keywords.ROLES ? 'roles' : 'groups';
  });

  private readonly userField = this.RULE(
    'userField',
    (): UserField =>
      this.choose<UserField>([
        {
          ALT: () => {
            this.CONSUME(keywords.EMAIL);
            return 'email';
          },
        },
        {
          ALT: () => {
            this.CONSUME(keywords.DISPLAY);
            this.CONSUME(keywords.NAME);
            return 'display-name';
          },
        },
        {
          ALT: () => {
            this.CONSUME(keywords.CAN);
            this.CONSUME(keywords.LOGIN);
            return 'can-login';
          },
        },
        {
          ALT: () => {
            this.CONSUME(keywords.BIRTH);
            this.CONSUME(keywords.DATE);
            return 'birth-date';
          },
        },
      ]),
  );

  private readonly alterSecurity = this.RULE('alterSecurity', (start: number): AlterSecurityStatement => {
    this.CONSUME(keywords.SECURITY);
    this.CONSUME(keywords.CONFIG);
    const pattern = this.SUBRULE(this.givenText);
    this.CONSUME(keywords.SET);
    const settings = [this.SUBRULE(this.securitySetting)];
    this.MANY(() => {
      this.OPTION(() => this.CONSUME(comma));
      this.OPTION2(() => this.CONSUME2(keywords.SET));
      settings.push(this.SUBRULE2(this.securitySetting));
    });
    return this.ACTION(() => ({ kind: 'alter-security', pattern, settings, span: this.spanFrom(start) }));
  });

  private readonly securitySetting = this.RULE(
    'securitySetting',
    (): SecuritySetting =>
      this.choose<SecuritySetting>([
        {
          ALT: () => {
            this.CONSUME(keywords.DEFAULT);
            this.CONSUME(keywords.POLICY);
            this.OPTION(() => this.CONSUME(equal));
            return { kind: 'default-policy', policy: this.SUBRULE(this.givenText) };
          },
        },
        {
          GATE: () => this.isAhead(2, keywords.ENABLED),
          ALT: () => {
            this.CONSUME(keywords.ANONYMOUS);
            this.CONSUME(keywords.ENABLED);
            this.OPTION2(() => this.CONSUME2(equal));
            return { kind: 'anonymous-enabled', isEnabled: this.SUBRULE(this.flag) };
          },
        },
        {
          ALT: () => {
            this.CONSUME2(keywords.ANONYMOUS);
            this.CONSUME(keywords.ROLE);
            this.OPTION3(() => this.CONSUME3(equal));
            return { kind: 'anonymous-role', role: this.SUBRULE2(this.givenText) };
          },
          IGNORE_AMBIGUITIES: true,
        },
        { ALT: () => this.SUBRULE(this.interfaceSetting) },
      ]),
  );

  private readonly interfaceSetting = this.RULE('interfaceSetting', (): SecuritySetting => {
    this.CONSUME(keywords.INTERFACE);
    const name = this.SUBRULE(this.bareOrQuoted);
    let key = '';
    let value: GivenValue | undefined;
    this.OR([
      {
        GATE: () => this.isAhead(2, keywords.ENABLED),
        ALT: () => {
          this.CONSUME(keywords.ANONYMOUS);
          this.CONSUME(keywords.ENABLED);
          this.OPTION(() => this.CONSUME(equal));
          key = 'anonymous_enabled';
          value = this.SUBRULE(this.givenValue);
        },
      },
      {
        ALT: () => {
          const word = this.SUBRULE2(this.bareOrQuoted);
          this.OPTION2(() => this.CONSUME2(equal));
          key = word;
          value = this.SUBRULE2(this.givenValue);
        },
        IGNORE_AMBIGUITIES: true,
      },
    ]);
    return this.ACTION(() => ({ kind: 'interface', name, key, value: value as GivenValue }));
  });

  protected readonly showAccess = this.RULE('showAccess', (start: number): ShowAccessStatement => {
    const word = this.OR([
      { ALT: () => this.CONSUME(keywords.ROLES) },
      { ALT: () => this.CONSUME(keywords.GROUPS) },
      { ALT: () => this.CONSUME(keywords.USERS) },
    ]);
    const parts: Parts<ShowAccessStatement> = {};
    this.MANY({
      // Only users are in groups and have roles.
      GATE: () => word.tokenType === keywords.USERS || this.isAhead(1, keywords.LIKE),
      DEF: () => {
        this.OR2([
          {
            ALT: () => {
              this.once(parts.like !== undefined, 'LIKE', this.CONSUME(keywords.LIKE));
              parts.like = this.SUBRULE(this.givenText);
            },
          },
          {
            ALT: () => {
              this.once(parts.inGroup !== undefined, 'IN GROUP', this.CONSUME(keywords.IN));
              this.CONSUME(keywords.GROUP);
              parts.inGroup = this.SUBRULE2(this.givenText);
            },
          },
          {
            ALT: () => {
              this.once(parts.withRole !== undefined, 'WITH ROLE', this.CONSUME(keywords.WITH));
              this.CONSUME(keywords.ROLE);
              parts.withRole = this.SUBRULE3(this.givenText);
            },
          },
        ]);
      },
    });
    return this.ACTION(() => ({
      kind: 'show-access',
      target: word.image.toLowerCase().slice(0, -1) as AccessTarget,
      like: parts.like,
      inGroup: parts.inGroup,
      withRole: parts.withRole,
      span: this.spanFrom(start),
    }));
  });

  protected readonly showSecurity = this.RULE('showSecurity', (start: number): ShowSecurityStatement => {
    this.CONSUME(keywords.SECURITY);
    this.CONSUME(keywords.CONFIG);
    const workspace = this.OPTION(() => {
      this.CONSUME(keywords.FOR);
      return this.SUBRULE(this.givenName);
    });
    return this.ACTION(() => ({ kind: 'show-security', workspace, span: this.spanFrom(start) }));
  });

  protected readonly showPermissions = this.RULE(
    'showPermissions',
    (start: number): ShowPermissionsStatement => {
      this.CONSUME(keywords.PERMISSIONS);
      const user = this.SUBRULE(this.forUser);
      const workspace = this.OPTION(() => {
        this.CONSUME(keywords.ON);
        return this.SUBRULE(this.givenName);
      });
      return this.ACTION(() => ({ kind: 'show-permissions', user, workspace, span: this.spanFrom(start) }));
    },
  );

  protected readonly showEffectiveRoles = this.RULE(
    'showEffectiveRoles',
    (start: number): ShowEffectiveRolesStatement => {
      this.CONSUME(keywords.EFFECTIVE);
      this.CONSUME(keywords.ROLES);
      const user = this.SUBRULE(this.forUser);
      return this.ACTION(() => ({ kind: 'show-effective-roles', user, span: this.spanFrom(start) }));
    },
  );

  private readonly forUser = this.RULE('forUser', (): GivenText => {
    this.CONSUME(keywords.FOR);
    this.CONSUME(keywords.USER);
    return this.SUBRULE(this.givenText);
  });

  /** GRANT and REVOKE. */
  protected readonly grant = this.RULE('grant', (): GrantStatement => {
    const verb = this.OR([
      { ALT: () => this.CONSUME(keywords.GRANT) },
      { ALT: () => this.CONSUME(keywords.REVOKE) },
    ]);
    const what = this.OR2([
      { ALT: () => this.CONSUME(keywords.ROLE) },
      { ALT: () => this.CONSUME(keywords.ROLES) },
      { ALT: () => this.CONSUME(keywords.GROUP) },
      { ALT: () => this.CONSUME(keywords.GROUPS) },
    ]);
    const names: GivenText[] = [];
    this.AT_LEAST_ONE_SEP({ SEP: comma, DEF: () => names.push(this.SUBRULE(this.givenText)) });
    const isGrant = this.ACTION(() => verb.tokenType === keywords.GRANT);
    this.OR3([
      { GATE: () => isGrant, ALT: () => this.CONSUME(keywords.TO) },
      { GATE: () => !isGrant, ALT: () => this.CONSUME(keywords.FROM) },
    ]);
    const to = this.OR4([
      { ALT: () => this.CONSUME(keywords.USER) },
      { ALT: () => this.CONSUME2(keywords.GROUP) },
    ]);
    const name = this.SUBRULE2(this.givenText);
    return this.ACTION(() => ({
      kind: isGrant ? 'grant' : 'revoke',
      what: what.tokenType === keywords.ROLE || what.tokenType === keywords.ROLES ? 'role' : 'group',
      names,
      to: to.tokenType === keywords.USER ? 'user' : 'group',
      name,
      span: this.spanFrom(verb.startOffset),
    }));
  });
}
