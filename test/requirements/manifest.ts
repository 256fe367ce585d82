import type { Requirement } from './requirement.ts';
import { adminRows } from './rows/admin.ts';
import { conventionsRows } from './rows/conventions.ts';
import { durabilityRows } from './rows/durability.ts';
import { listingRows } from './rows/listing.ts';
import { nodeTypesRows } from './rows/node-types.ts';
import { nodesRows } from './rows/nodes.ts';
import { queryRows } from './rows/query.ts';
import { repositoriesRows } from './rows/repositories.ts';
import { revisionsRows } from './rows/revisions.ts';
import { translationsRows } from './rows/translations.ts';
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
  ...listingRows,
  ...nodeTypesRows,
  ...revisionsRows,
  ...queryRows,
  ...translationsRows,
  ...adminRows,
  ...durabilityRows,
];
