import type { Turn } from '#runtime/commit/behaviour.ts';
import { listRecords, readRecord, removeRecord } from '#runtime/commit/record-store.ts';
import { requireTagName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { findBranch, happened } from './branches.ts';
import type { BranchAddress, PutTag, RemoveTag, TagEntry, TagRemoved } from './messages.ts';
import { writeListed } from './listed-records.ts';
import { RepositoryTable } from './repository-tables.ts';
import { checkAuthor, checkDescription } from './texts.ts';

const tagList = { table: RepositoryTable.tags, noun: 'tags', mebibytesMax: 4 };

/** @see messages.ts, PutTag */
export function putTag({ tag }: PutTag, turn: Turn): TagEntry {
  const name = requireTagName(tag.name);
  if (readRecord(turn, RepositoryTable.tags, name) !== undefined || findBranch(turn, name) !== undefined) {
    throw new ServiceError('TAG_ALREADY_EXISTS', `A tag or branch '${name}' already exists`, {
      field: 'name',
    });
  }
  if (!hasContent(turn, tag.branch)) {
    throw new ServiceError('REVISION_NOT_FOUND', `Revision '${tag.revision}' not found`);
  }
  const entry: TagEntry = {
    ...tag,
    createdAt: new Date(turn.wallMs).toISOString(),
    createdBy: checkAuthor(tag.createdBy),
    message: checkDescription(tag.message, 'message'),
  };
  writeListed(turn, tagList, entry, name);
  turn.emit(happened('TagCreated', name));
  return entry;
}

/** @see messages.ts, RemoveTag */
export function removeTag({ name }: RemoveTag, turn: Turn): TagRemoved {
  const tag = readRecord<TagEntry>(turn, RepositoryTable.tags, name);
  if (tag === undefined) throw new ServiceError('TAG_NOT_FOUND', `Tag '${name}' not found`);
  if (tag.protected) throw new ServiceError('FORBIDDEN', `Tag '${name}' is protected`);
  removeRecord(turn, RepositoryTable.tags, name);
  turn.emit(happened('TagDeleted', name));
  const { uid } = tag.branch;
  const retired = readRecord<BranchAddress>(turn, RepositoryTable.retired, uid);
  if (retired === undefined) return { released: null };
  const isNeeded = listRecords<TagEntry>(turn, RepositoryTable.tags).some(
    (other) => other.branch.uid === uid,
  );
  if (isNeeded) return { released: null };
  removeRecord(turn, RepositoryTable.retired, uid);
  return { released: retired };
}

/** Whether the content of a branch exists: the branch is listed, or kept for a tag. */
function hasContent(turn: Turn, { name, uid }: BranchAddress): boolean {
  return findBranch(turn, name)?.uid === uid || readRecord(turn, RepositoryTable.retired, uid) !== undefined;
}
