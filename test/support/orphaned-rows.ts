import { decodeRevision, decodeRevisionDescending, REVISION_BYTES } from '#runtime/content/revision.ts';
import { auditRevision, BranchTable, feedKey, feedSequence } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readLineage } from '#runtime/tree/lineage.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';

/** The revision in a key, by table, of all that a revision leaves behind. */
const revisionIn = {
  nodeVersions: lastDescending,
  pathVersions: lastDescending,
  childVersions: lastDescending,
  parentVersions: lastDescending,
  definitionVersions: lastDescending,
  revisions: (key: string) => decodeRevision(key, 0),
  revisionChanges: (key: string) => decodeRevision(key, 0),
  audit: auditRevision,
} as const;

function lastDescending(key: string) {
  return decodeRevisionDescending(key, key.length - REVISION_BYTES);
}

/** Every row of a branch that belongs to its source alone, as `table: key`; found by looking at all of them. */
export function findOrphanedRows(reader: TableReader): string[] {
  const lineage = readLineage(reader);
  const { first } = readBranchHead(reader).feed;
  const entries = [...reader.range(BranchTable.feed, { start: '', end: feedKey(first) })];
  const ofSource = entries.map(({ key }) => `feed: ${feedSequence(key)}`);
  const ofRevisions = Object.entries(revisionIn).flatMap(([name, revisionOf]) => {
    const table = BranchTable[name as keyof typeof revisionIn];
    const keys = [...reader.range(table, { start: '', end: '\u00ff\u00ff' })].map(({ key }) => key);
    return keys.filter((key) => lineage.isForeign(revisionOf(key))).map((key) => `${name}: ${key}`);
  });
  return [...ofRevisions, ...ofSource];
}
