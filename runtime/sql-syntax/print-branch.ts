import type {
  AlterBranchStatement,
  BranchStatement,
  ConflictResolution,
  SessionStatement,
} from './nodes/branch-nodes.ts';
import { printRevision } from './print-tree.ts';
import { printClause, printGiven, printName, type PrintersOf, quoteName } from './print-words.ts';
import { keywordOf } from './tokens.ts';

function printChange(change: AlterBranchStatement['change']): string {
  switch (change.kind) {
    case 'upstream':
      return change.upstream === undefined ? 'UNSET UPSTREAM' : `SET UPSTREAM ${printGiven(change.upstream)}`;
    case 'protected':
      return `SET PROTECTED ${change.isProtected ? 'TRUE' : 'FALSE'}`;
    case 'description':
      return `SET DESCRIPTION ${printGiven(change.text)}`;
    case 'rename':
      return `RENAME TO ${printGiven(change.name)}`;
  }
}

function printResolution({ nodeId, locale, decision }: ConflictResolution): string {
  const word = decision.kind.toUpperCase().replace('-', '_');
  const json = decision.kind === 'use-value' ? ` ${printGiven(decision.json)}` : '';
  return `(${printGiven(nodeId)}${printClause(', ', locale)}, ${word}${json})`;
}

/** How statements about branches and about the session are printed. */
export const branchPrinters: PrintersOf<(BranchStatement | SessionStatement)['kind']> = {
  'create-branch': (node) => {
    const at = node.at === undefined ? '' : ` AT REVISION ${printRevision(node.at)}`;
    const origin = `${printClause(' FROM ', node.from)}${at}`;
    const rest = `${node.isProtected ? ' PROTECTED' : ''}${printClause(' UPSTREAM ', node.upstream)}`;
    return `CREATE BRANCH ${printGiven(node.name)}${origin}${printClause(' DESCRIPTION ', node.description)}${rest}`;
  },
  'alter-branch': (node) => `ALTER BRANCH ${printGiven(node.name)} ${printChange(node.change)}`,
  'drop-branch': (node) => `DROP BRANCH ${node.ifExists ? 'IF EXISTS ' : ''}${printGiven(node.name)}`,
  'merge-branch': (node) => {
    const strategy =
      node.strategy === undefined ? '' : ` USING ${node.strategy.toUpperCase().replace('-', '_')}`;
    const list = node.resolutions.map(printResolution).join(', ');
    const resolutions = list === '' ? '' : ` RESOLVE CONFLICTS (${list})`;
    const ends = `${printGiven(node.source)} INTO ${printGiven(node.target)}`;
    return `MERGE BRANCH ${ends}${strategy}${printClause(' MESSAGE ', node.message)}${resolutions}`;
  },
  'show-branches': () => 'SHOW BRANCHES',
  'show-current-branch': () => 'SHOW CURRENT BRANCH',
  'describe-branch': (node) => `DESCRIBE BRANCH ${printGiven(node.name)}`,
  'show-divergence': (node) => `SHOW DIVERGENCE ${printGiven(node.branch)} FROM ${printGiven(node.base)}`,
  'show-conflicts': (node) =>
    `SHOW CONFLICTS FOR MERGE ${printGiven(node.branch)} INTO ${printGiven(node.base)}`,
  'use-branch': (node) => `USE ${node.isLocal ? 'LOCAL ' : ''}BRANCH ${printGiven(node.name)}`,
  begin: () => 'BEGIN',
  commit: (node) =>
    `COMMIT${printClause(' WITH MESSAGE ', node.message)}${printClause(' ACTOR ', node.actor)}`,
  rollback: () => 'ROLLBACK',
  'set-variable': (node) => {
    const value = node.value === undefined ? 'DEFAULT' : printGiven(node.value);
    return `SET ${printDotted(node.name)} = ${value}`;
  },
  'show-variable': (node) => `SHOW ${node.name.split(' ').map(printDotted).join(' ')}`,
};

/** A name with dots. A keyword is quoted, because it would be read as one here. */
function printDotted(text: string): string {
  const parts = text.split('.');
  return parts.map((part) => (keywordOf(part) === undefined ? printName(part) : quoteName(part))).join('.');
}
