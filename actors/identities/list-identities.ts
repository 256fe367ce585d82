import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { everyKey } from '#runtime/check/check-rows.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { ShardSnapshot } from '#runtime/shard/shard.ts';
import { identityOfText, shownIdentity } from './identity-store.ts';
import { IdentitiesTable, type IdentityRow } from './identities-tables.ts';
import { IDENTITIES_PAGE_MAX, type Identity, type ListIdentities } from './messages.ts';

/** Rows read between two looks at the slice. */
const ROWS_PER_STEP = 64;

/** @see messages.ts, ListIdentities */
export async function listIdentities(
  query: ListIdentities,
  context: QueryContext,
): Promise<readonly Identity[]> {
  const { email, limit, offset } = query;
  if (limit < 1 || limit > IDENTITIES_PAGE_MAX || offset < 0) {
    throw invalid(`A page has 1 to ${IDENTITIES_PAGE_MAX} identities, and begins at 0 or later`);
  }
  if (email !== undefined) {
    const found = identityOfText(context.view, email);
    const isShown = found !== undefined && offset === 0 && isWanted(found, query);
    return isShown ? [shownIdentity(found)] : [];
  }
  const snapshot = context.pin();
  try {
    return await pageOf(query, snapshot, context);
  } finally {
    snapshot.close();
  }
}

async function pageOf(
  query: ListIdentities,
  snapshot: ShardSnapshot,
  context: QueryContext,
): Promise<readonly Identity[]> {
  const { limit, offset } = query;
  const page: Identity[] = [];
  let skipped = 0;
  let { start } = everyKey;
  for (;;) {
    let read = 0;
    for (const { key, value } of snapshot.range(IdentitiesTable.identities, { ...everyKey, start })) {
      start = `${key}\0`;
      read += 1;
      const identity = decodeJsonRow(value) as IdentityRow;
      if (isWanted(identity, query)) {
        if (skipped < offset) skipped += 1;
        else page.push(shownIdentity(identity));
      }
      if (page.length === limit) return page;
      if (read === ROWS_PER_STEP) break;
    }
    if (read < ROWS_PER_STEP) return page;
    const wait = context.pause();
    if (wait !== undefined) await wait;
  }
}

function isWanted({ is_active: isActive }: IdentityRow, { isActive: wanted }: ListIdentities): boolean {
  return wanted === undefined || wanted === isActive;
}
