import type { BranchState, ReadBranchState } from '#actors/branch/messages.ts';
import type { BranchEntry, FindBranch, FindTag, ListBranches } from '#actors/repository/messages.ts';
import { requireAdministrator } from '#runtime/access/policy.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { FoundBranch, FoundRepository } from '../access/found-branch.ts';
import type { RepositoryDirectory } from '../access/repository-directory.ts';
import { type ListEntryError, listEntryError } from '../list-entry-error.ts';

/** Heads of listed branches read before yielding to the event loop. */
const HEADS_PER_TURN = 16;

/** What branches are looked up with. */
export interface BranchLookup {
  readonly router: Router;
  readonly directory: RepositoryDirectory;
}

/**
 * A branch or tag by its name, for administrators. Only the engine may look a name up, so the caller is checked here; the
 * lists, which administrators may read themselves, can have megabytes.
 *
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`
 */
export function entryNamed(
  { router }: Pick<BranchLookup, 'router'>,
  caller: Caller,
  { actor }: FoundRepository,
  query: FindBranch | FindTag,
): unknown {
  const { policy, principal } = caller;
  requireAdministrator(policy, principal);
  return router.query(actor, query, { ...caller, ...engineCaller(principal.tenant) });
}

/** A branch by its name; a tag does not count. @throws {ServiceError} `BRANCH_NOT_FOUND`; as {@link entryNamed} */
export async function requireBranchNamed(
  lookup: Pick<BranchLookup, 'router'>,
  caller: Caller,
  repository: FoundRepository,
  name: string,
): Promise<BranchEntry> {
  const query: FindBranch = { type: 'FindBranch', name };
  const entry = (await entryNamed(lookup, caller, repository, query)) as BranchEntry | undefined;
  if (entry === undefined) throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' not found`);
  return entry;
}

/** The head revision of a branch. */
export async function headOfBranch(
  { directory, router }: BranchLookup,
  caller: Caller,
  repository: FoundRepository,
  entry: BranchEntry,
): Promise<string> {
  const query: ReadBranchState = { type: 'ReadBranchState' };
  const { actor } = directory.foundBranch(repository, entry);
  return ((await router.query(actor, query, caller)) as BranchState).head;
}

/** A branch of a list. */
export interface ListedBranch {
  readonly entry: BranchEntry;
  /** Its head; or why the branch cannot tell it. */
  readonly head: string | ListEntryError;
}

/**
 * All branches with their heads, sorted by name.
 *
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`; `REQUEST_CANCELLED` when the caller no longer waits
 */
export async function listBranchHeads(
  lookup: BranchLookup & { readonly clock: Clock },
  caller: Caller,
  repository: FoundRepository,
): Promise<readonly ListedBranch[]> {
  const query: ListBranches = { type: 'ListBranches' };
  const entries = (await lookup.router.query(repository.actor, query, caller)) as readonly BranchEntry[];
  const found: ListedBranch[] = [];
  for (const entry of entries) {
    if (caller.signal?.aborted === true) throw new ServiceError('REQUEST_CANCELLED');
    try {
      found.push({ entry, head: await headOfBranch(lookup, caller, repository, entry) });
    } catch (error) {
      // Deleted since the list was read.
      const isGone = error instanceof ServiceError && error.entry.status === 404;
      const contained = listEntryError(error);
      if (contained !== undefined) found.push({ entry, head: contained });
      else if (!isGone) throw error;
    }
    // The head of a closed branch must be loaded first.
    if (found.length % HEADS_PER_TURN === 0) {
      await new Promise<void>((resolve) => lookup.clock.soon(resolve));
    }
  }
  return found;
}

/** The branches of a merge. */
export interface MergedBranches {
  readonly source: FoundBranch;
  readonly target: FoundBranch;
}

/**
 * The branches of a merge. A merge commit refers to the head of the source, which a tag does not have.
 *
 * @throws {ServiceError} `BRANCH_NOT_FOUND`, for a tag as well; `FORBIDDEN` when the target is protected; as
 *   {@link entryNamed}
 */
export async function branchesOfMerge(
  lookup: BranchLookup,
  caller: Caller,
  repository: FoundRepository,
  sourceName: string,
  targetName: string,
): Promise<MergedBranches> {
  const { directory } = lookup;
  const entry = await requireBranchNamed(lookup, caller, repository, targetName);
  const source = await directory.branchOf(repository, sourceName, 'read');
  if (source.taggedAt !== undefined) {
    throw new ServiceError('BRANCH_NOT_FOUND', `'${sourceName}' is a tag; a merge takes a branch`);
  }
  if (entry.protected) throw new ServiceError('FORBIDDEN', `Branch '${entry.name}' is protected`);
  return { source, target: directory.foundBranch(repository, entry) };
}
