import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { givenText, givenValue } from '#runtime/sql-plan/given-values.ts';
import type {
  AccessChangeStatement,
  AlterRoleStatement,
  AlterUserStatement,
  SecuritySetting,
} from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { NumberedStatement, SqlText } from './sql-text.ts';
import { classOf } from './statement-class.ts';

/** Decisions of one command that are told one by one: a transaction may have thousands. */
const DECISIONS_MAX = 50;

/** What a statement has changed of who may do what, for the audit trail. */
export interface AccessDecision {
  /** As the routes call the same, in the past tense. */
  readonly action: string;
  /** The role, group, user or pattern, as the statement names it; empty for the rest of many. */
  readonly subject: string;
  readonly details: JsonObject;
}

/** The decisions in statements that were committed together, in their order. */
export function accessDecisions(statements: readonly NumberedStatement[]): readonly AccessDecision[] {
  const found = statements.filter(({ statement }) => classOf(statement) === 'change-access');
  const told = found
    .slice(0, DECISIONS_MAX)
    .map(({ statement, text }) => decisionOf(statement as AccessChangeStatement, text));
  const more = found.length - told.length;
  return more === 0
    ? told
    : [...told, { action: 'access_changed', subject: '', details: { more_statements: more } }];
}

function decisionOf(statement: AccessChangeStatement, text: SqlText): AccessDecision {
  const read = (given: GivenText): string => givenText(given, text, text.source);
  const all = (given: readonly GivenText[]): readonly string[] => given.map(read);
  switch (statement.kind) {
    case 'create-role': {
      const { inherits, name, permissions } = statement;
      const details = { inherits: all(inherits), permissions: permissions.length };
      return { action: 'role_created', subject: read(name), details };
    }
    case 'alter-role':
      return { action: 'role_changed', subject: read(statement.name), details: roleChange(statement, all) };
    case 'create-group':
      return {
        action: 'group_created',
        subject: read(statement.name),
        details: { roles: all(statement.roles) },
      };
    case 'alter-group': {
      const { change, name } = statement;
      const details = 'roles' in change ? { roles: all(change.roles) } : {};
      return { action: 'group_changed', subject: read(name), details: { change: change.kind, ...details } };
    }
    case 'create-user': {
      const { groups, name, roles } = statement;
      return {
        action: 'user_created',
        subject: read(name),
        details: { roles: all(roles), groups: all(groups) },
      };
    }
    case 'alter-user':
      return { action: 'user_changed', subject: read(statement.name), details: userChange(statement, all) };
    case 'drop-access':
      return { action: `${statement.target}_deleted`, subject: read(statement.name), details: {} };
    case 'grant':
    case 'revoke': {
      const { kind, name, names, to, what } = statement;
      const action = kind === 'grant' ? 'access_granted' : 'access_revoked';
      return { action, subject: read(name), details: { to, [`${what}s`]: all(names) } };
    }
    case 'alter-security': {
      const settings = statement.settings.map((setting) => settingText(setting, text));
      return { action: 'security_config_changed', subject: read(statement.pattern), details: { settings } };
    }
  }
}

type ReadAll = (given: readonly GivenText[]) => readonly string[];

function roleChange({ change }: AlterRoleStatement, all: ReadAll): JsonObject {
  return { change: change.kind, ...('roles' in change ? { inherits: all(change.roles) } : {}) };
}

/** The new value is left out: it may be a date of birth. */
function userChange({ change }: AlterUserStatement, all: ReadAll): JsonObject {
  return change.kind === 'set'
    ? { change: `set-${change.field}` }
    : { change: change.kind, [change.what]: all(change.names) };
}

function settingText(setting: SecuritySetting, text: SqlText): string {
  switch (setting.kind) {
    case 'default-policy':
      return `default_policy ${givenText(setting.policy, text, text.source)}`;
    case 'anonymous-enabled':
      return `anonymous_enabled ${setting.isEnabled}`;
    case 'anonymous-role':
      return `anonymous_role ${givenText(setting.role, text, text.source)}`;
    case 'interface':
      return `${setting.name}.${setting.key} ${String(givenValue(setting.value, text, text.source))}`;
  }
}
