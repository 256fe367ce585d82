import type { BranchQuery } from '#actors/branch/messages.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { ROOT_ID } from '#runtime/content/content-node.ts';
import { type EntryChanges, entryChanges } from '#runtime/feed/entry-changes.ts';
import { type FeedEntry, readFeed } from '#runtime/feed/read-feed.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';

/** Runs a function of the test over the durable state of a branch. */
export interface LookAt {
  readonly type: 'LookAt';
  readonly look: (view: TableReader) => unknown;
}

/** A kind of branch that also answers {@link LookAt}. */
export function lookedAt(kind: ActorKind): ActorKind {
  return {
    ...kind,
    create: (context) => {
      const inner = kind.create(context);
      const query = (asked: BranchQuery | LookAt, inContext: Parameters<typeof inner.query>[1]): unknown =>
        asked.type === 'LookAt' ? asked.look(inContext.view) : inner.query(asked as never, inContext);
      return new Proxy(inner, {
        get: (target, name) => {
          if (name === 'query') return query;
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  };
}

/** All entries of a feed after a position, read in pages. */
export function feedAfter(reader: TableReader, after = 0, limit = 7): FeedEntry[] {
  const entries: FeedEntry[] = [];
  for (let at = after; ; ) {
    const page = readFeed(reader, at, limit);
    if (page.isCut) throw new Error(`the feed is cut after ${at}`);
    entries.push(...page.entries);
    at = entries.at(-1)?.sequence ?? at;
    if (page.isComplete) return entries;
  }
}

/** The parts of an entry. */
export function partsOf(reader: TableReader, entry: FeedEntry): EntryChanges[] {
  return [...entryChanges(() => reader, entry)].filter((part) => part !== undefined);
}

/** Every node of some workspaces at a revision, by `workspace id`. */
export function nodesAt(
  reader: TableReader,
  revision: string,
  workspaces: readonly string[],
): Map<string, NodeRecord> {
  const nodes = new Map<string, NodeRecord>();
  if (revision === '0-0') return nodes;
  const past = new PastNodeReader(reader, parseRevision(revision));
  const visit = (workspace: string, parentId: string): void => {
    for (const { id } of [...past.children(workspace, parentId)]) {
      nodes.set(`${workspace} ${id}`, past.byId(workspace, id) as NodeRecord);
      visit(workspace, id);
    }
  };
  for (const workspace of workspaces) visit(workspace, ROOT_ID);
  return nodes;
}
