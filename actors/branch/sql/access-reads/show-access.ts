import { groupOf, idsIn, strippedId, userOf } from '#runtime/access/roles/access-nodes.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { RelationColumn } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { ShowAccessStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import { likeOperator } from '#runtime/sql-values/operators/like-operator.ts';
import { arrayOf, textType } from '#runtime/sql-values/types/basic-types.ts';
import {
  type AccessType,
  type CatalogNode,
  GROUP_TYPE,
  ROLE_TYPE,
  textOf,
} from '../../access/access-catalog.ts';
import { USER_TYPE } from '../../access/user-places.ts';
import type { AccessAnswer, AccessSource } from './access-answer.ts';

/** How the nodes of a type are listed. */
interface Listing {
  readonly nodeType: AccessType;
  readonly columns: readonly RelationColumn[];
  readonly row: (node: CatalogNode) => Row;
  /** What a pattern is compared with; one of them has to match. */
  readonly names: (node: CatalogNode) => readonly (string | null)[];
}

const text = (name: string): RelationColumn => ({ name, type: textType });
const texts = (name: string): RelationColumn => ({ name, type: arrayOf(textType) });

const listings: Readonly<Record<ShowAccessStatement['target'], Listing>> = {
  role: {
    nodeType: ROLE_TYPE,
    columns: [text('role_id'), text('description'), texts('inherits')],
    row: (node) => [
      textOf(node, 'role_id'),
      textOf(node, 'description'),
      idsIn(node.properties, 'inherits', '/roles/'),
    ],
    names: (node) => [textOf(node, 'role_id')],
  },
  group: {
    nodeType: GROUP_TYPE,
    columns: [text('group_id'), text('description'), texts('roles')],
    row: (node) => [textOf(node, 'group_id'), textOf(node, 'description'), groupOf(node)?.roles ?? []],
    names: (node) => [textOf(node, 'group_id')],
  },
  user: {
    nodeType: USER_TYPE,
    columns: [text('user_id'), text('email'), text('display_name'), texts('roles'), texts('groups')],
    row: (node) => {
      const { groups, roles } = userOf(node);
      return [userId(node), textOf(node, 'email'), textOf(node, 'display_name'), roles, groups];
    },
    names: (node) => [userId(node), textOf(node, 'email'), textOf(node, 'display_name')],
  },
};

/** `SHOW ROLES`, `SHOW GROUPS`, `SHOW USERS`, in the order of the paths of the nodes. */
export function showAccess(source: AccessSource, statement: ShowAccessStatement): AccessAnswer {
  const listing = listings[statement.target];
  return { columns: listing.columns, rows: rowsOf(source, statement, listing) };
}

function* rowsOf(
  source: AccessSource,
  { inGroup, like, withRole }: ShowAccessStatement,
  { names, nodeType, row }: Listing,
): Generator<Row | undefined, void> {
  const isLike = like === undefined ? undefined : likeTest(source, source.text(like));
  const group = inGroup === undefined ? undefined : strippedId(source.text(inGroup), '/groups/');
  const role = withRole === undefined ? undefined : strippedId(source.text(withRole), '/roles/');
  for (const node of source.catalog.all(nodeType)) {
    const isWanted =
      node !== undefined &&
      (isLike === undefined || names(node).some(isLike)) &&
      (group === undefined || userOf(node).groups.includes(group)) &&
      (role === undefined || userOf(node).roles.includes(role));
    yield isWanted ? row(node) : undefined;
  }
}

/** Whether a text matches a pattern of LIKE. */
function likeTest({ execution }: AccessSource, pattern: string): (name: string | null) => boolean {
  const like = likeOperator('LIKE', textType, textType);
  return (name) => {
    if (name === null) return false;
    execution.spendOnCall(like.work?.([name, pattern]) ?? 0);
    return like.evaluate(name, pattern) === true;
  };
}

/** What names a user: the identity, and of a node without one the name of the node. */
function userId(node: CatalogNode): string {
  return textOf(node, 'user_id') ?? node.record.name;
}
