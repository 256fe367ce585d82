import type { Requirement } from './requirement.ts';
import { accessControlRows } from './rows/access-control.ts';
import { adminRows } from './rows/admin.ts';
import { assetsRows } from './rows/assets.ts';
import { backupRows } from './rows/backup.ts';
import { branchesRows } from './rows/branches.ts';
import { clusterRows } from './rows/cluster.ts';
import { consoleRows } from './rows/console.ts';
import { conventionsRows } from './rows/conventions.ts';
import { durabilityRows } from './rows/durability.ts';
import { functionsRows } from './rows/functions.ts';
import { identityRows } from './rows/identity.ts';
import { listingRows } from './rows/listing.ts';
import { locksRows } from './rows/locks.ts';
import { mcpRows } from './rows/mcp.ts';
import { mcpOutboundRows } from './rows/mcp-outbound.ts';
import { mergeRows } from './rows/merge.ts';
import { nodeTypesRows } from './rows/node-types.ts';
import { nodesRows } from './rows/nodes.ts';
import { queryRows } from './rows/query.ts';
import { repositoriesRows } from './rows/repositories.ts';
import { restExpectationsRows } from './rows/rest-expectations.ts';
import { revertRows } from './rows/revert.ts';
import { revisionsRows } from './rows/revisions.ts';
import { sqlAccessRows } from './rows/sql-access.ts';
import { sqlExamplesRows } from './rows/sql-examples.ts';
import { sqlStatementsRows } from './rows/sql-statements.ts';
import { sqlTreeRows } from './rows/sql-tree.ts';
import { tagsRows } from './rows/tags.ts';
import { translationsRows } from './rows/translations.ts';
import { websocketRows } from './rows/websocket.ts';
import { workspacesRows } from './rows/workspaces.ts';

/**
 * Every promise of the interface, in reading order. Ids are unique (a test and the gate hold that), and a row
 * file that is not listed here fails a test.
 */
export const requirements: readonly Requirement[] = [
  ...conventionsRows,
  ...repositoriesRows,
  ...workspacesRows,
  ...nodesRows,
  ...restExpectationsRows,
  ...listingRows,
  ...nodeTypesRows,
  ...revisionsRows,
  ...queryRows,
  ...translationsRows,
  ...adminRows,
  ...durabilityRows,
  ...branchesRows,
  ...tagsRows,
  ...mergeRows,
  ...revertRows,
  ...clusterRows,
  ...backupRows,
  ...locksRows,
  ...accessControlRows,
  ...identityRows,
  ...sqlStatementsRows,
  ...sqlAccessRows,
  ...sqlTreeRows,
  ...assetsRows,
  ...functionsRows,
  ...mcpRows,
  ...mcpOutboundRows,
  ...websocketRows,
  ...consoleRows,
  ...sqlExamplesRows,
];
