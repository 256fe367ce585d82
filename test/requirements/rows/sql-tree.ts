// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: statements of SQL about the tree. */
export const sqlTreeRows: readonly Requirement[] = [
  { id: 'SQL-100', section: 'docs/interface/sql-tree.md#move-and-copy', status: 'verified', theme: 'sql', behaviour: 'MOVE and COPY to a taken name are 409, into itself or below itself 400, with a missing node or parent 404 with its role; MOVE to the present parent changes nothing' },
  { id: 'SQL-101', section: 'docs/interface/sql-tree.md#order', status: 'verified', theme: 'sql', behaviour: 'ORDER of a node beside itself, of the root, and of nodes with different parents is 400' },
  { id: 'SQL-102', section: 'docs/interface/sql-tree.md#relate-and-unrelate', status: 'verified', theme: 'sql', behaviour: 'RELATE has the workspace `default` and the type `references` by default, and replaces the weight; UNRELATE without a type removes all relations of the pair, also to a deleted node' },
  { id: 'SQL-103', section: 'docs/interface/sql-tree.md#statements-of-the-tree', status: 'verified', theme: 'sql', behaviour: 'A node that the caller may not read is missing for every statement about the tree; what it may not do is 403' },
  { id: 'SQL-104', section: 'docs/interface/sql-tree.md#restore', status: 'verified', theme: 'sql', behaviour: '`HEAD~n` counts the own revisions of the node as its history lists them; too few are refused with their number' },
  { id: 'SQL-105', section: 'docs/interface/sql-tree.md#restore', status: 'verified', theme: 'sql', behaviour: '`branch~n` restores the state of another branch or of a tag, as far as the caller may read it there' },
  { id: 'SQL-106', section: 'docs/interface/sql-tree.md#restore', status: 'verified', theme: 'sql', behaviour: 'RESTORE NODE gives name, properties, archetype and translations of the revision; parent, order, publication, owner and relations stay' },
  { id: 'SQL-107', section: 'docs/interface/sql-tree.md#restore', status: 'verified', theme: 'sql', behaviour: 'RESTORE NODE finds the node in any workspace, and asks for IN WORKSPACE where several have it' },
  { id: 'SQL-108', section: 'docs/interface/sql-tree.md#restore', status: 'verified', theme: 'sql', behaviour: 'With TRANSLATIONS only these locales are restored' },
  { id: 'SQL-109', section: 'docs/interface/sql-tree.md#restore', status: 'verified', theme: 'sql', behaviour: 'RESTORE needs `update` and `read` for all properties, and a state that the present types allow' },
  { id: 'SQL-110', section: 'docs/interface/sql-tree.md#restore', status: 'verified', theme: 'sql', behaviour: 'RESTORE TREE restores the nodes that exist now, as one revision; deleted ones stay deleted, those that came since stay; nodes may exchange names' },
  { id: 'SQL-111', section: 'docs/interface/sql-tree.md#translate', status: 'verified', theme: 'sql', behaviour: 'TRANSLATE keeps the values that it does not name, NULL drops one, items of lists are named by uuid' },
  { id: 'SQL-112', section: 'docs/interface/sql-tree.md#translate', status: 'verified', theme: 'sql', behaviour: 'TRANSLATE of a node type translates its nodes, without those that the caller may not translate; without WHERE it is refused' },
  { id: 'SQL-113', section: 'docs/interface/sql-tree.md#statements-of-the-tree', status: 'verified', theme: 'sql', behaviour: '`IN BRANCH` runs a statement on another branch, and is refused within a transaction of another one' },
  { id: 'SQL-114', section: 'docs/interface/sql-tree.md#statements-of-the-tree', status: 'verified', theme: 'sql', behaviour: 'MOVE, COPY, ORDER, RELATE, UNRELATE and TRANSLATE come to the same trees as the commands of REST, for every caller' },
];
