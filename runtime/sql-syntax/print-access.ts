import type {
  AccessChangeStatement,
  AccessReadStatement,
  AlterGroupStatement,
  AlterRoleStatement,
  AlterUserStatement,
  CreateUserStatement,
  GrantNode,
  SecuritySetting,
} from './nodes/access-nodes.ts';
import type { GivenText } from './nodes/given-nodes.ts';
import { printClause, printGiven, printName, type PrintersOf, printTexts } from './print-words.ts';

/** The texts of statements of access. */
export const accessPrinters: PrintersOf<(AccessChangeStatement | AccessReadStatement)['kind']> = {
  'create-role': (node) => {
    const permissions = node.permissions.map(printGrant).join(', ');
    const about = printClause(' DESCRIPTION ', node.description);
    return `CREATE ROLE ${printGiven(node.name)}${about}${printList(' INHERITS ', node.inherits)}${permissions === '' ? '' : ` PERMISSIONS (${permissions})`}`;
  },
  'alter-role': (node) => `ALTER ROLE ${printGiven(node.name)} ${printRoleChange(node.change)}`,
  'create-group': (node) =>
    `CREATE GROUP ${printGiven(node.name)}${printClause(' DESCRIPTION ', node.description)}${printList(' ROLES ', node.roles)}`,
  'alter-group': (node) => `ALTER GROUP ${printGiven(node.name)} ${printGroupChange(node.change)}`,
  'create-user': printCreateUser,
  'alter-user': (node) => `ALTER USER ${printGiven(node.name)} ${printUserChange(node.change)}`,
  'drop-access': (node) =>
    `DROP ${node.target.toUpperCase()}${node.ifExists ? ' IF EXISTS' : ''} ${printGiven(node.name)}`,
  'describe-access': (node) => `DESCRIBE ${node.target.toUpperCase()} ${printGiven(node.name)}`,
  'show-access': (node) => {
    const inGroup = printClause(' IN GROUP ', node.inGroup);
    const withRole = printClause(' WITH ROLE ', node.withRole);
    return `SHOW ${node.target.toUpperCase()}S${printClause(' LIKE ', node.like)}${inGroup}${withRole}`;
  },
  grant: (node) =>
    `GRANT ${node.what.toUpperCase()} ${node.names.map(printGiven).join(', ')} TO ${node.to.toUpperCase()} ${printGiven(node.name)}`,
  revoke: (node) =>
    `REVOKE ${node.what.toUpperCase()} ${node.names.map(printGiven).join(', ')} FROM ${node.to.toUpperCase()} ${printGiven(node.name)}`,
  'alter-security': (node) =>
    `ALTER SECURITY CONFIG ${printGiven(node.pattern)} SET ${node.settings.map(printSetting).join(' ')}`,
  'show-security': (node) => `SHOW SECURITY CONFIG${printClause(' FOR ', node.workspace)}`,
  'show-permissions': (node) =>
    `SHOW PERMISSIONS FOR USER ${printGiven(node.user)}${printClause(' ON ', node.workspace)}`,
  'show-effective-roles': (node) => `SHOW EFFECTIVE ROLES FOR USER ${printGiven(node.user)}`,
};

/** A clause with a list; nothing when the list is empty. */
function printList(before: string, texts: readonly GivenText[]): string {
  return texts.length === 0 ? '' : `${before}${printTexts(texts)}`;
}

function printCreateUser(node: CreateUserStatement): string {
  const canLogin = node.canLogin === undefined ? '' : ` CAN LOGIN ${node.canLogin ? 'TRUE' : 'FALSE'}`;
  return [
    `CREATE USER ${printGiven(node.name)}`,
    printClause(' EMAIL ', node.email),
    printClause(' DISPLAY NAME ', node.displayName),
    printList(' ROLES ', node.roles),
    printList(' GROUPS ', node.groups),
    canLogin,
    printClause(' BIRTH DATE ', node.birthDate),
    printClause(' IN FOLDER ', node.folder),
  ].join('');
}

function printGrant(grant: GrantNode): string {
  const operations = grant.operations.map((operation) => operation.toUpperCase()).join(', ');
  return [
    `ALLOW ${operations}`,
    printClause(' ON ', grant.workspace),
    ` PATH ${printGiven(grant.path)}`,
    printClause(' BRANCH ', grant.branch),
    printList(' NODE TYPES ', grant.nodeTypes ?? []),
    printList(' FIELDS ', grant.fields ?? []),
    printList(' EXCEPT FIELDS ', grant.exceptFields ?? []),
    grant.condition === undefined ? '' : ` WHERE ${grant.condition}`,
  ].join('');
}

function printRoleChange(change: AlterRoleStatement['change']): string {
  switch (change.kind) {
    case 'add-permission':
      return `ADD PERMISSION ${printGrant(change.grant)}`;
    case 'drop-permission':
      return `DROP PERMISSION ${printGiven(change.number)}`;
    case 'add-inherits':
      return `ADD INHERITS ${printTexts(change.roles)}`;
    case 'drop-inherits':
      return `DROP INHERITS ${printTexts(change.roles)}`;
    case 'set-description':
      return `SET DESCRIPTION ${printGiven(change.text)}`;
  }
}

function printGroupChange(change: AlterGroupStatement['change']): string {
  if (change.kind === 'set-description') return `SET DESCRIPTION ${printGiven(change.text)}`;
  return `${change.kind === 'add-roles' ? 'ADD' : 'DROP'} ROLES ${printTexts(change.roles)}`;
}

function printUserChange(change: AlterUserStatement['change']): string {
  if (change.kind !== 'set')
    return `${change.kind.toUpperCase()} ${change.what.toUpperCase()} ${printTexts(change.names)}`;
  return `SET ${change.field.toUpperCase().replace('-', ' ')} ${printGiven(change.value)}`;
}

function printSetting(setting: SecuritySetting): string {
  switch (setting.kind) {
    case 'default-policy':
      return `DEFAULT POLICY ${printGiven(setting.policy)}`;
    case 'anonymous-enabled':
      return `ANONYMOUS ENABLED ${setting.isEnabled ? 'TRUE' : 'FALSE'}`;
    case 'anonymous-role':
      return `ANONYMOUS ROLE ${printGiven(setting.role)}`;
    case 'interface': {
      const key = setting.key === 'anonymous_enabled' ? 'ANONYMOUS ENABLED' : printName(setting.key);
      return `INTERFACE ${printName(setting.name)} ${key} ${printGiven(setting.value)}`;
    }
  }
}
