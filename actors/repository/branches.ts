import type { Turn } from '#runtime/commit/behaviour.ts';
import {
  listRecords,
  readRecord,
  type RecordCache,
  removeRecord,
  writeRecord,
} from '#runtime/commit/record-store.ts';
import { requireBranchName } from '#runtime/content/names.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { enqueueJob } from '#runtime/jobs/outbox.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type {
  BranchAddress,
  BranchEntry,
  BranchUnregistered,
  NamesChanged,
  RegisterBranch,
  TagEntry,
  UnregisterBranch,
  UpdateBranch,
} from './messages.ts';
import { writeListed } from './listed-records.ts';
import { EVERY_BRANCH, RepositoryTable } from './repository-tables.ts';
import { checkAuthor, checkDescription } from './texts.ts';

const listedBranches = { table: RepositoryTable.branches, noun: 'branches', mebibytesMax: 4 };

/** Every branch, sorted by name; the same array until a record changes. */
export function branchList(records: RecordCache): readonly BranchEntry[] {
  return records.derived('branches', (reader) => listRecords<BranchEntry>(reader, RepositoryTable.branches));
}

/** @param actor id of the repository's actor. @see messages.ts, RegisterBranch */
export function registerBranch(
  { branch, job, requiresUpstream }: RegisterBranch,
  turn: Turn,
  actor: string,
): BranchEntry {
  const name = requireBranchName(branch.name);
  if (findBranch(turn, name) !== undefined || readRecord(turn, RepositoryTable.tags, name) !== undefined) {
    throw new ServiceError('BRANCH_ALREADY_EXISTS', `A branch or tag '${name}' already exists`, {
      field: 'name',
    });
  }
  if (requiresUpstream && branch.upstreamBranch !== null) requireUpstream(turn, branch.upstreamBranch);
  const entry: BranchEntry = {
    ...branch,
    createdAt: new Date(turn.wallMs).toISOString(),
    createdBy: checkAuthor(branch.createdBy),
    description: checkDescription(branch.description),
  };
  writeListed(turn, listedBranches, entry, name);
  if (job !== undefined) enqueueJob(turn, actor, job);
  turn.emit(happened('BranchCreated', name));
  return entry;
}

/** @see messages.ts, UpdateBranch */
export function updateBranch(command: UpdateBranch, turn: Turn): BranchEntry {
  const { description, name, upstreamBranch } = command;
  const branch = requireBranch(turn, name);
  // An unchanged upstream may have been deleted, so that a client can send back the branch it has read.
  const isNew = upstreamBranch !== undefined && upstreamBranch !== branch.upstreamBranch;
  if (isNew && upstreamBranch === name)
    throw invalid(`Branch '${name}' cannot be its own upstream`, { field: 'upstream_branch' });
  if (isNew && upstreamBranch !== null) requireUpstream(turn, upstreamBranch);
  const changed: BranchEntry = {
    ...branch,
    protected: command.protected ?? branch.protected,
    description: description === undefined ? branch.description : checkDescription(description),
    upstreamBranch: upstreamBranch === undefined ? branch.upstreamBranch : upstreamBranch,
  };
  writeListed(turn, listedBranches, changed, name);
  turn.emit(happened('BranchUpdated', name));
  return changed;
}

/**
 * Removes a branch from the list. A tag always refers to the same revision, so a tag of the branch moves to another
 * branch with the revision. Without such a branch the content of this branch is kept.
 *
 * @param retireTokens stops the locks of a branch from granting, and returns their newest fence token
 * @see messages.ts, UnregisterBranch
 */
export function unregisterBranch(
  { successors = {}, name }: UnregisterBranch,
  defaultBranch: string,
  turn: Turn,
  retireTokens: (branch: BranchAddress) => number,
): BranchUnregistered {
  const { protected: isProtected, uid } = requireBranch(turn, name);
  if (isProtected) throw new ServiceError('FORBIDDEN', `Branch '${name}' is protected`);
  if (name === defaultBranch) {
    throw new ServiceError('FORBIDDEN', `Branch '${name}' is the default branch of the repository`);
  }
  removeRecord(turn, RepositoryTable.branches, name);
  const branch: BranchAddress = { name, uid };
  let isRetired = false;
  for (const tag of listRecords<TagEntry>(turn, RepositoryTable.tags)) {
    if (tag.branch.uid !== uid) continue;
    const successor = Object.hasOwn(successors, tag.name) ? successors[tag.name] : undefined;
    if (successor !== undefined && findBranch(turn, successor.name)?.uid === successor.uid) {
      writeRecord(turn, RepositoryTable.tags, { ...tag, branch: successor }, tag.name);
    } else {
      isRetired = true;
    }
  }
  if (isRetired) writeRecord(turn, RepositoryTable.retired, branch, uid);
  // Tokens of a later branch with this name have to be higher than all tokens of this one.
  const token = retireTokens(branch);
  if (token > tokenFloor(turn, name)) writeRecord(turn, RepositoryTable.tokens, token, name);
  turn.emit(happened('BranchDeleted', name));
  return { branch, isRetired };
}

/** A branch by name. */
export function findBranch(turn: Turn, name: string): BranchEntry | undefined {
  return readRecord<BranchEntry>(turn, RepositoryTable.branches, name);
}

/**
 * The highest fence token that earlier branches with a name may have issued; 0 when there is none. It covers deleted
 * branches, branches lost by a restore of the repository, and earlier repositories with its name.
 */
export function tokenFloor(reader: TableReader, name: string): number {
  const ofName = readRecord<number>(reader, RepositoryTable.tokens, name) ?? 0;
  return Math.max(ofName, readRecord<number>(reader, RepositoryTable.tokens, EVERY_BRANCH) ?? 0);
}

/** The event for subscribers. */
export function happened(type: NamesChanged['type'], name: string): NamesChanged {
  return { type, name };
}

function requireBranch(turn: Turn, name: string): BranchEntry {
  const branch = findBranch(turn, name);
  if (branch === undefined) throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' not found`);
  return branch;
}

function requireUpstream(turn: Turn, name: string): void {
  if (findBranch(turn, name) !== undefined) return;
  throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${name}' not found`, { field: 'upstream_branch' });
}
